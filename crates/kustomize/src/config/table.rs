//! Reads the compact table of the default configuration. It is part of the program; the tests check it.

use super::{Config, NameReference};
use crate::fieldspec::FieldSpec;

pub(super) fn parse(table: &str) -> Config {
    let mut config = Config::default();
    let mut section = "";
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(header) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = header;
            if let Some(target) = header.strip_prefix("nameReference ") {
                let FieldSpec { group, version, kind, .. } = kind_spec(target);
                config.name_reference.push(NameReference { group, version, kind, referrers: Vec::new() });
            }
            continue;
        }
        let Some(specs) = section_of(&mut config, section) else { continue };
        let mut words = line.split(' ');
        let path = words.next().unwrap_or_default();
        let create = words.next() == Some("+");
        specs.extend(words.map(|kind| FieldSpec { path: path.to_owned(), create, ..kind_spec(kind) }));
    }
    config
}

/// `Kind@version:group`, or `*`.
fn kind_spec(text: &str) -> FieldSpec {
    let (text, group) = text.split_once(':').unwrap_or((text, ""));
    let (kind, version) = text.split_once('@').unwrap_or((text, ""));
    let kind = if kind == "*" { "" } else { kind };
    FieldSpec {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        ..FieldSpec::default()
    }
}

fn section_of<'c>(config: &'c mut Config, section: &str) -> Option<&'c mut Vec<FieldSpec>> {
    Some(match section {
        "namePrefix" => &mut config.name_prefix,
        "nameSuffix" => &mut config.name_suffix,
        "namespace" => &mut config.namespace,
        "commonLabels" => &mut config.common_labels,
        "templateLabels" => &mut config.template_labels,
        "volumeClaimTemplateLabels" => &mut config.volume_claim_template_labels,
        "commonAnnotations" => &mut config.common_annotations,
        "images" => &mut config.images,
        "replicas" => &mut config.replicas,
        "varReference" => &mut config.var_reference,
        _ => &mut config.name_reference.last_mut()?.referrers,
    })
}
