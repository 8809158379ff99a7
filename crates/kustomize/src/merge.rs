//! Strategic merge, as the reference does it (§8.3), quirks included.
//!
//! The reference works on shared nodes: where the target lacks something, the patch's node becomes the target's and
//! is then merged with itself, which runs the directives inside it. Here that is [`Patch::Same`].

mod directive;
mod list;

use weir_yaml::{Entry, Map, Node, Schema as Words, Style, Tag, resolve};

use self::directive::Directive;
use crate::Error;
use crate::id::Gvk;
use crate::schema::{Field, Schema, TypeId};

/// The patch that a node is merged with.
#[derive(Debug, Clone, Copy)]
enum Patch<'p> {
    /// The patch does not mention it.
    Absent,
    /// The patch's own node.
    Given(&'p Node),
    /// The target's node is the patch's node.
    Same,
}

impl<'p> Patch<'p> {
    fn of(node: Option<&'p Node>) -> Self {
        node.map_or(Self::Absent, Self::Given)
    }

    /// The patch's node when it is one of its own.
    fn given(self) -> Option<&'p Node> {
        match self {
            Self::Given(node) => Some(node),
            _ => None,
        }
    }

    fn is_null(self) -> bool {
        self.given().is_some_and(Node::is_null)
    }
}

/// Merges `patch` into `target`; `None` when nothing is left of it.
///
/// # Errors
/// The patch has another shape than the target, or an unknown `$patch` directive (KZ-820, KZ-823).
pub(crate) fn merge(target: Node, patch: &Node, schema: &Schema) -> Result<Option<Node>, Error> {
    // The reference makes the patch the result, and then forgets to put the result in the place of the resource.
    if patch.text_at(&[directive::KEY]) == Some("replace") {
        return Ok(Some(target));
    }
    Merger { schema }.node(Some(target), Patch::Given(patch), None)
}

struct Merger<'s> {
    schema: &'s Schema,
}

/// The kind of the first node that is there; what is missing on both sides is treated as a mapping.
fn leading_kind<'n>(target: Option<&'n Node>, patch: Option<&'n Node>) -> Option<&'n Node> {
    [target, patch].into_iter().flatten().find(|node| !node.is_null())
}

impl Merger<'_> {
    fn node(
        &self,
        target: Option<Node>,
        patch: Patch<'_>,
        field: Option<&Field>,
    ) -> Result<Option<Node>, Error> {
        let wanted = leading_kind(target.as_ref(), patch.given()).map_or("MappingNode", Node::kind_name);
        for node in [target.as_ref(), patch.given()].into_iter().flatten() {
            if !node.is_null() && node.kind_name() != wanted {
                return Err(Error::wrong_kind(wanted, node));
            }
        }
        match wanted {
            "MappingNode" => self.map(target, patch, field.and_then(|field| field.target)),
            "SequenceNode" => match field.and_then(|field| Some((field, field.merge_keys.as_ref()?))) {
                Some((field, keys)) => self.list(target, patch, keys, field),
                None => Ok(replaced(target, patch)),
            },
            _ => Ok(replaced(target, patch)),
        }
    }

    fn map(
        &self,
        target: Option<Node>,
        patch: Patch<'_>,
        known: Option<TypeId>,
    ) -> Result<Option<Node>, Error> {
        let known = known.or_else(|| self.type_of(target.as_ref())).or_else(|| self.type_of(patch.given()));
        let (target, patch) = match (target, patch) {
            (Some(Node::Map(target)), patch) => match self.enter(target, patch)? {
                Some(entered) => entered,
                None => return Ok(None),
            },
            // An explicit null stays as long as the patch does not mention it.
            (Some(null), Patch::Absent) => {
                return Ok(null.text().is_some_and(|text| !text.is_empty()).then_some(null));
            }
            (_, Patch::Given(Node::Map(patch))) => {
                let mut adopted = patch.clone();
                match Directive::take_from_map(&mut adopted) {
                    Ok(Directive::Delete) => return Ok(None),
                    // Here the reference overlooks directives that it does not know.
                    Ok(_) | Err(_) => (adopted, Cow::Same),
                }
            }
            _ => return Ok(None),
        };
        self.fields(target, patch.as_patch(), known).map(Some)
    }

    /// Obeys the directive of a patch for a mapping that is there.
    fn enter<'p>(&self, mut target: Map, patch: Patch<'p>) -> Result<Option<(Map, Cow<'p>)>, Error> {
        if patch.is_null() {
            return Ok(None);
        }
        match patch {
            Patch::Absent => Ok(Some((target, Cow::Absent))),
            Patch::Same => match Directive::take_from_map(&mut target)? {
                Directive::Delete => Ok(None),
                Directive::Replace | Directive::Merge => Ok(Some((target, Cow::Same))),
            },
            Patch::Given(node) if node.get(directive::KEY).is_none() => Ok(Some((target, Cow::Given(node)))),
            Patch::Given(node) => {
                let mut patch = node.as_map().cloned().unwrap_or_default();
                match Directive::take_from_map(&mut patch)? {
                    Directive::Delete => Ok(None),
                    Directive::Replace => Ok(Some((patch, Cow::Same))),
                    Directive::Merge => Ok(Some((target, Cow::Stripped(Node::Map(patch))))),
                }
            }
        }
    }

    fn fields(&self, target: Map, patch: Patch<'_>, known: Option<TypeId>) -> Result<Node, Error> {
        let field = |name: &str| known.and_then(|known| self.schema.field(known, name));
        let patched = patch.given().and_then(Node::as_map);
        let by_name = patched.map(Map::index);
        let new: Vec<&Entry> = match (patched, &by_name) {
            (Some(patched), Some(by_name)) => {
                let present = target.index();
                let counts = |entry: &&Entry| {
                    let first = by_name.get(&entry.key.text);
                    // Of entries with equal keys the first one counts.
                    present.get(&entry.key.text).is_none()
                        && first.is_some_and(|first| std::ptr::eq(first, &entry.value))
                };
                patched.entries.iter().filter(counts).collect()
            }
            _ => Vec::new(),
        };
        let mut merged = Map { entries: Vec::with_capacity(target.len() + new.len()) };
        for mut entry in target.entries {
            let name = entry.key.text.as_str();
            let source = match (patch, &by_name) {
                (Patch::Given(_), Some(by_name)) => Patch::of(by_name.get(name)),
                (patch, _) => patch,
            };
            let style = entry.value.as_scalar().map(|scalar| scalar.style);
            let Some(mut value) = self.node(Some(entry.value), source, field(name))? else { continue };
            match style.filter(|_| source.given().is_some()) {
                Some(style) => keep_style(&mut value, style),
                None => quote_ambiguous(&mut value),
            }
            entry.value = value;
            merged.entries.push(entry);
        }
        for entry in new {
            let Some(mut value) = self.node(None, Patch::Given(&entry.value), field(&entry.key.text))? else {
                continue;
            };
            quote_ambiguous(&mut value);
            merged.entries.push(Entry { key: entry.key.clone(), value });
        }
        Ok(Node::Map(merged))
    }

    fn type_of(&self, node: Option<&Node>) -> Option<TypeId> {
        let node = node?;
        let kind = node.text_at(&["kind"]).filter(|kind| !kind.is_empty())?;
        let api_version = node.text_at(&["apiVersion"]).filter(|version| !version.is_empty())?;
        self.schema.type_of(Gvk::new(api_version, kind))
    }
}

/// A patch for the inside of a node, after its directive has been obeyed.
enum Cow<'p> {
    Absent,
    Same,
    Given(&'p Node),
    Stripped(Node),
}

impl Cow<'_> {
    fn as_patch(&self) -> Patch<'_> {
        match self {
            Self::Absent => Patch::Absent,
            Self::Same => Patch::Same,
            Self::Given(node) => Patch::Given(node),
            Self::Stripped(node) => Patch::Given(node),
        }
    }
}

/// Scalars and lists that do not merge: the patch's value if it has one, and nothing if that is null.
fn replaced(target: Option<Node>, patch: Patch<'_>) -> Option<Node> {
    match patch {
        Patch::Given(node) => Some(node.clone()),
        Patch::Absent | Patch::Same => target,
    }
    .filter(|node| !node.is_null())
}

/// A value that takes the place of another is written like it: a number in quotes becomes a string (KZ-821).
fn keep_style(value: &mut Node, style: Style) {
    if let Node::Scalar(scalar) = value {
        scalar.style = style;
    }
}

/// Strings that YAML 1.1 would read as something else are quoted, which later patches inherit (KZ-705).
fn quote_ambiguous(value: &mut Node) {
    if let Node::Scalar(scalar) = value
        && scalar.style == Style::Plain
        && matches!(scalar.tag, Tag::Str | Tag::Unset)
        && !scalar.text.is_empty()
        && !scalar.text.contains('\n')
        && resolve(&scalar.text, Words::Yaml11).0 != Tag::Str
    {
        scalar.style = Style::Double;
        if scalar.tag == Tag::Unset {
            scalar.tag = Tag::Str;
        }
    }
}

#[cfg(test)]
mod tests;
