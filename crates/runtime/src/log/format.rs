//! The line format: zap's keys and levels.

use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::{LookupSpan, Scope};

use super::Encoding;

/// Log readers (the stock CLI among them) stop at lines of 64 KiB (OBS-03, CMP-17); one value never fills it alone.
const MAX_VALUE: usize = 48 * 1024;

/// Ending of the names of fields whose text is JSON: they are written without it, as the values that they hold.
const JSON: &str = "_json";

pub(super) struct ZapFormat {
    pub encoding: Encoding,
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Map<String, Value>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.to_owned());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.others.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.others.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.others.insert(field.name().to_owned(), value.into());
    }
}

impl Fields {
    fn put(&mut self, field: &Field, mut value: String) {
        if value.len() > MAX_VALUE {
            let end = (0..=MAX_VALUE).rev().find(|&end| value.is_char_boundary(end)).unwrap_or(0);
            value.truncate(end);
        }
        let json =
            field.name().strip_suffix(JSON).and_then(|name| Some((name, serde_json::from_str(&value).ok()?)));
        if field.name() == "message" {
            self.message = value;
        } else if let Some((name, json)) = json {
            self.others.insert(name.to_owned(), json);
        } else {
            self.others.insert(field.name().to_owned(), value.into());
        }
    }

    /// Flux's entries about an object carry it as `<Kind>: {name, namespace}` beside the single keys.
    fn name_object(&mut self) {
        let text = |key: &str| self.others.get(key).and_then(Value::as_str).map(str::to_owned);
        if let (Some(kind), Some(namespace), Some(name)) =
            (text("controllerKind"), text("namespace"), text("name"))
        {
            self.others.insert("controller".to_owned(), kind.to_lowercase().into());
            self.others.insert(kind, serde_json::json!({ "name": name, "namespace": namespace }));
        }
    }
}

impl<S, N> FormatEvent<S, N> for ZapFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields::default();
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            if let Some(written) = span.extensions().get::<FormattedFields<N>>()
                && let Ok(Value::Object(written)) = serde_json::from_str(written)
            {
                fields.others.extend(written);
            }
        }
        event.record(&mut fields);
        fields.name_object();
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            // Zap's levels, as Flux has them, know none between.
            Level::WARN | Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        let line = self.line(level, Timestamp::now(), fields);
        writeln!(writer, "{line}")
    }
}

impl ZapFormat {
    fn line(&self, level: &str, now: Timestamp, fields: Fields) -> String {
        let ts = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let Fields { message, others } = fields;
        match self.encoding {
            Encoding::Console if others.is_empty() => format!("{ts}\t{}\t{message}", level.to_uppercase()),
            Encoding::Console => {
                format!("{ts}\t{}\t{message}\t{}", level.to_uppercase(), Value::Object(others))
            }
            Encoding::Json => {
                let mut entry = Map::new();
                entry.insert("level".to_owned(), level.into());
                entry.insert("ts".to_owned(), ts.into());
                entry.insert("msg".to_owned(), message.into());
                entry.extend(others);
                Value::Object(entry).to_string()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::fmt::format::JsonFields;

    use super::*;
    use crate::log::written::Written;

    fn entry() -> Fields {
        let mut fields = Fields { message: "server-side apply completed".to_owned(), ..Fields::default() };
        for (key, value) in [("controllerKind", "Kustomization"), ("namespace", "apps"), ("name", "web")] {
            fields.others.insert(key.to_owned(), value.into());
        }
        fields.name_object();
        fields
    }

    fn line(encoding: Encoding) -> String {
        let now = "2026-01-02T03:04:05.006Z".parse().unwrap();
        ZapFormat { encoding }.line("info", now, entry())
    }

    #[test]
    fn json_has_the_keys_that_flux_logs_reads() {
        assert_eq!(
            line(Encoding::Json),
            r#"{"level":"info","ts":"2026-01-02T03:04:05.006Z","msg":"server-side apply completed","controllerKind":"Kustomization","namespace":"apps","name":"web","controller":"kustomization","Kustomization":{"name":"web","namespace":"apps"}}"#
        );
    }

    #[test]
    fn entries_carry_what_the_run_around_them_knows() {
        let written = Written::default();
        let out = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .fmt_fields(JsonFields::new())
            .event_format(ZapFormat { encoding: Encoding::Json })
            .with_writer(move || out.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let run = tracing::error_span!("run", controllerKind = "Bucket", namespace = "apps", name = "b");
            run.in_scope(|| tracing::warn!(name = "other", "odd"));
            tracing::info!("outside");
        });
        let text = String::from_utf8(written.0.lock().clone()).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&lines[0]["level"], &lines[0]["name"]), (&"info".into(), &"other".into()));
        assert_eq!(lines[0]["Bucket"], serde_json::json!({"name": "other", "namespace": "apps"}));
        assert_eq!((&lines[1]["msg"], lines[1].get("name")), (&"outside".into(), None));
    }

    #[test]
    fn console_is_tab_separated() {
        assert!(
            line(Encoding::Console)
                .starts_with("2026-01-02T03:04:05.006Z\tINFO\tserver-side apply completed\t{")
        );
    }
}
