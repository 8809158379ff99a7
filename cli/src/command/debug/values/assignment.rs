//! Assignments as Helm's `--set` reads them: `a.b[0].c=value,d={x,y}`, with its rules for types and its messages.

use std::cell::RefCell;
use std::rc::Rc;
use std::str::Chars;

use serde_json::Value;

use super::shared::{List, Map, Node};

/// Largest index of a list; Helm has the same.
const MAX_INDEX: i64 = 65_536;
/// Longest way of names; Helm has the same.
const MAX_NAMES: usize = 30;
/// Most indexes of one path. Helm has no limit; each takes some of the stack.
const MAX_LISTS: usize = 30;
/// Items of all lists that one text makes. Helm has no limit; a short text can ask for more than there is memory.
const MAX_ITEMS: usize = 1 << 20;

/// Puts the values of a text into a map. They are texts, or what they look like.
pub(super) fn assign(text: &str, values: &Map, are_texts: bool) -> Result<(), String> {
    let mut parser = Parser { rest: text.chars(), are_texts, lists: 0, room: MAX_ITEMS };
    loop {
        parser.lists = 0;
        match parser.key(values, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Failed(reason)) => return Err(reason),
        }
    }
}

/// The reason why reading ends.
enum Stop {
    /// There is no more text.
    End,
    Failed(String),
}

fn failed<T>(reason: String) -> Result<T, Stop> {
    Err(Stop::Failed(reason))
}

struct Parser<'a> {
    rest: Chars<'a>,
    are_texts: bool,
    /// Indexes of the path so far.
    lists: usize,
    /// Items that lists may still have.
    room: usize,
}

impl Parser<'_> {
    /// Reads as far as one of some signs, which is taken away; nothing at the end of the text. A backslash takes the meaning from a sign.
    fn until(&mut self, signs: &[char]) -> (String, Option<char>) {
        let mut read = String::new();
        while let Some(sign) = self.rest.next() {
            match sign {
                _ if signs.contains(&sign) => return (read, Some(sign)),
                '\\' => match self.rest.next() {
                    Some(sign) => read.push(sign),
                    None => break,
                },
                _ => read.push(sign),
            }
        }
        (read, None)
    }

    /// Reads a key and what belongs to it.
    fn key(&mut self, values: &Map, level: usize) -> Result<(), Stop> {
        let (key, sign) = self.until(&['=', '[', ',', '.']);
        match sign {
            None if key.is_empty() => Err(Stop::End),
            None => failed(format!("key {key:?} has no value")),
            Some('[') => self.items(values, key, level),
            Some('.') => self.fields(values, key, level + 1),
            Some(',') => failed(format!("key {key:?} has no value (cannot end with ,)")),
            Some(_) => {
                let value = self.value()?;
                let is_end = value.is_none();
                put(values, key, value.unwrap_or_else(nothing));
                if is_end { Err(Stop::End) } else { Ok(()) }
            }
        }
    }

    /// Reads what is below a name and a dot.
    fn fields(&mut self, values: &Map, key: String, level: usize) -> Result<(), Stop> {
        if level > MAX_NAMES {
            return failed(format!(
                "value name nested level is greater than maximum supported nested level of {MAX_NAMES}"
            ));
        }
        let found = values.borrow().get(&key).cloned();
        let inner = match found {
            Some(Node::Map(inner)) => inner,
            None => Map::default(),
            Some(other) => return failed(in_the_way(&other, &Node::Map(Map::default()))),
        };
        let read = self.key(&inner, level);
        let is_empty = inner.borrow().is_empty();
        if is_empty && read.is_ok() {
            return failed(format!("key map {key:?} has no value"));
        }
        if !is_empty {
            put(values, key, Node::Map(inner));
        }
        read
    }

    /// Reads what is below a name and a bracket.
    fn items(&mut self, values: &Map, key: String, level: usize) -> Result<(), Stop> {
        let index = self.index()?;
        let found = values.borrow().get(&key).cloned();
        let mut list = match found {
            Some(Node::List(list)) => list,
            None => List::default(),
            Some(other) => return failed(in_the_way(&other, &Node::List(List::default()))),
        };
        let read = self.item(&mut list, index, level);
        put(values, key, Node::List(list));
        read
    }

    /// Reads the rest of an index.
    fn index(&mut self) -> Result<i64, Stop> {
        let (index, sign) = self.until(&[']']);
        if sign.is_none() {
            return Err(Stop::End);
        }
        index.parse().or_else(|_| {
            let is_number = index.trim_start_matches(['+', '-']).chars().all(|sign| sign.is_ascii_digit());
            let fault = if is_number && index.len() > 1 { "value out of range" } else { "invalid syntax" };
            failed(format!("error parsing index: strconv.Atoi: parsing {index:?}: {fault}"))
        })
    }

    /// Reads what is behind an index.
    fn item(&mut self, list: &mut List, index: i64, level: usize) -> Result<(), Stop> {
        if index < 0 {
            return failed(format!("negative {index} index not allowed"));
        }
        self.lists += 1;
        if self.lists > MAX_LISTS {
            return failed(format!("a path has more than {MAX_LISTS} indexes"));
        }
        let (surplus, sign) = self.until(&['[', '.', '=']);
        if !surplus.is_empty() {
            let signs: Vec<_> = surplus.chars().map(|sign| format!("{sign:?}")).collect();
            return failed(format!("unexpected data at end of array index: [{}]", signs.join(" ")));
        }
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let found = list.borrow().get(at).cloned();
        match sign {
            None => Err(Stop::End),
            Some('=') => {
                let value = self.value()?.unwrap_or_else(nothing);
                self.put_item(list, index, value)
            }
            Some('[') => {
                let next = self.index()?;
                let mut inner = match found {
                    Some(Node::List(inner)) => inner,
                    None | Some(Node::Scalar(Value::Null)) => List::default(),
                    Some(other) => return failed(in_the_way(&other, &Node::List(List::default()))),
                };
                self.item(&mut inner, next, level)?;
                self.put_item(list, index, Node::List(inner))
            }
            Some(_) => {
                let inner = match found {
                    Some(Node::Map(inner)) => inner,
                    other => {
                        let inner = Map::default();
                        if other.is_some() {
                            self.put_item(list, index, Node::Map(Rc::clone(&inner)))?;
                        }
                        inner
                    }
                };
                self.key(&inner, level)?;
                self.put_item(list, index, Node::Map(inner))
            }
        }
    }

    /// Puts a value into a list, which is a new one when it grows.
    fn put_item(&mut self, list: &mut List, index: i64, value: Node) -> Result<(), Stop> {
        if index > MAX_INDEX {
            return failed(format!(
                "index of {index} is greater than maximum supported index of {MAX_INDEX}"
            ));
        }
        let at = usize::try_from(index).unwrap_or_default();
        if let Some(slot) = list.borrow_mut().get_mut(at) {
            *slot = value;
            return Ok(());
        }
        let mut items = list.borrow().clone();
        let Some(room) = self.room.checked_sub(at + 1) else {
            return failed(format!("lists have more than {MAX_ITEMS} items"));
        };
        self.room = room;
        items.resize(at, Node::Scalar(Value::Null));
        items.push(value);
        *list = Rc::new(RefCell::new(items));
        Ok(())
    }

    /// Reads a value, or a list of them in braces; nothing at the end of the text.
    fn value(&mut self) -> Result<Option<Node>, Stop> {
        match self.rest.clone().next() {
            None => return Ok(None),
            Some('{') => self.rest.next(),
            Some(_) => {
                let (text, _) = self.until(&[',']);
                return Ok(Some(self.node(text)));
            }
        };
        let mut items = Vec::new();
        loop {
            let (text, sign) = self.until(&[',', '}']);
            if sign.is_none() {
                return failed("list must terminate with '}'".to_owned());
            }
            items.push(self.node(text));
            if sign == Some('}') {
                break;
            }
        }
        if self.rest.clone().next() == Some(',') {
            self.rest.next();
        }
        Ok(Some(Node::List(Rc::new(RefCell::new(items)))))
    }

    /// Returns the value that a text stands for.
    fn node(&self, text: String) -> Node {
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        match text.parse() {
            _ if self.are_texts => Node::Scalar(text.into()),
            _ if is("true") => Node::Scalar(true.into()),
            _ if is("false") => Node::Scalar(false.into()),
            _ if is("null") => Node::Scalar(Value::Null),
            Ok(number) if text == "0" || !text.starts_with('0') => Node::Integer(number),
            _ => Node::Scalar(text.into()),
        }
    }
}

/// Puts a value into a map; one without a name is dropped.
fn put(values: &Map, key: String, value: Node) {
    if !key.is_empty() {
        values.borrow_mut().insert(key, value);
    }
}

fn nothing() -> Node {
    Node::Scalar("".into())
}

/// Says that something is in the way of a path, as Go does.
fn in_the_way(found: &Node, wanted: &Node) -> String {
    let (found, wanted) = (found.type_name(), wanted.type_name());
    format!("unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::shared;
    use super::*;

    fn assigned(text: &str) -> Result<Value, String> {
        let values = json!({ "keep": 1, "text": "t", "map": { "x": 1 }, "list": [1, [2]], "none": null });
        let values = shared::map(values.as_object().unwrap().clone());
        assign(text, &values, false)?;
        let mut value = shared::value(&values);
        let fields = value.as_object_mut().unwrap();
        for (name, kept) in [
            ("keep", json!(1)),
            ("text", json!("t")),
            ("map", json!({ "x": 1 })),
            ("list", json!([1, [2]])),
            ("none", Value::Null),
        ] {
            if fields.get(name) == Some(&kept) {
                fields.remove(name);
            }
        }
        Ok(value)
    }

    /// As Helm's own library has it (`helm.sh/helm/v4/pkg/strvals`).
    #[rstest::rstest]
    #[case("a.b=x", json!({ "a": { "b": "x" } }))]
    #[case("a[1].c=2", json!({ "a": [null, { "c": 2 }] }))]
    #[case(r"a\.b=x\,y", json!({ "a.b": "x,y" }))]
    #[case("map.y=1", json!({ "map": { "x": 1, "y": 1 } }))]
    #[case("list[1][1]=x", json!({ "list": [1, [2, "x"]] }))]
    #[case("list[0].a=x", json!({ "list": [{ "a": "x" }, [2]] }))]
    #[case("a=x,b=y", json!({ "a": "x", "b": "y" }))]
    #[case("a={x,1},b=y", json!({ "a": ["x", 1], "b": "y" }))]
    #[case("a={}", json!({ "a": [""] }))]
    #[case("a=", json!({ "a": "" }))]
    #[case("a[0]=", json!({ "a": [""] }))]
    #[case("a[0].b=", json!({ "a": [] }))]
    #[case("a[0=x", json!({}))]
    #[case("a={x}b=c", json!({ "a": ["x"], "b": "c" }))]
    #[case("a=b=c", json!({ "a": "b=c" }))]
    #[case("a=True", json!({ "a": true }))]
    #[case("a=FALSE", json!({ "a": false }))]
    #[case("a=Null", json!({ "a": null }))]
    #[case("a=007", json!({ "a": "007" }))]
    #[case("a=0", json!({ "a": 0 }))]
    #[case("a=-12", json!({ "a": -12 }))]
    #[case("a=1.5", json!({ "a": "1.5" }))]
    #[case("a=true\n", json!({ "a": "true\n" }))]
    #[case("a=8080\n", json!({ "a": "8080\n" }))]
    fn values_are_what_helm_makes_of_them(#[case] text: &str, #[case] expected: Value) {
        assert_eq!(assigned(text).unwrap(), expected);
    }

    #[rstest::rstest]
    #[case("a", "key \"a\" has no value")]
    #[case("a,b=1", "key \"a\" has no value (cannot end with ,)")]
    #[case("a..b=x", "key map \"a\" has no value")]
    #[case("a={x", "list must terminate with '}'")]
    #[case("a[x]=1", "error parsing index: strconv.Atoi: parsing \"x\": invalid syntax")]
    #[case("a[]=1", "error parsing index: strconv.Atoi: parsing \"\": invalid syntax")]
    #[case(
        "a[99999999999999999999]=1",
        "error parsing index: strconv.Atoi: parsing \"99999999999999999999\": value out of range"
    )]
    #[case("a[0=x]", "error parsing index: strconv.Atoi: parsing \"0=x\": invalid syntax")]
    #[case("a[-1]=1", "negative -1 index not allowed")]
    #[case("a[65537]=1", "index of 65537 is greater than maximum supported index of 65536")]
    #[case("a[0]bc=1", "unexpected data at end of array index: ['b' 'c']")]
    #[case(
        "text.a=1",
        "unable to parse key: interface conversion: interface {} is string, not map[string]interface {}"
    )]
    #[case(
        "none.a=1",
        "unable to parse key: interface conversion: interface {} is nil, not map[string]interface {}"
    )]
    #[case(
        "map.x[0]=1",
        "unable to parse key: interface conversion: interface {} is float64, not []interface {}"
    )]
    #[case(
        "a=1,a.b=2",
        "unable to parse key: interface conversion: interface {} is int64, not map[string]interface {}"
    )]
    #[case(
        "list[0][0]=1",
        "unable to parse key: interface conversion: interface {} is float64, not []interface {}"
    )]
    fn bad_assignments_are_refused_in_the_words_of_helm(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(assigned(text).unwrap_err(), expected);
    }

    #[test]
    fn a_short_text_makes_no_endless_values() {
        let deep = |step: &str| format!("a{}=1", step.repeat(100_000));
        let long = (0..20).map(|number| format!("a{number}[{MAX_INDEX}]=1,")).collect();
        for (text, expected) in [
            (deep(".a"), "value name nested level is greater"),
            (deep("[0]"), "a path has more than 30 indexes"),
            (deep("[0].a"), "a path has more than 30 indexes"),
            (long, "lists have more than 1048576 items"),
        ] {
            let reason = assigned(&text).unwrap_err();
            assert!(reason.starts_with(expected), "{reason}");
        }
    }
}
