//! The walk over all leaves of a document, in the order of the file.

use zeroize::Zeroizing;

use crate::cipher::{self, Leaf};
use crate::data_key::DataKey;
use crate::error::{CipherError, Error};
use crate::mac::{Counter, Mac};
use crate::metadata::Metadata;
use crate::scope::Scope;
use crate::tree::{Comment, Element, Member, Node, Value};

/// End of an encrypted comment.
const COMMENT: &str = ",type:comment]";

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Decrypt,
    Encrypt,
}

/// Decrypts every encrypted leaf in place; returns the MAC of the plaintext, and the plaintext values.
pub(crate) fn decrypt(
    trees: &mut [Node],
    metadata: &Metadata,
    key: &DataKey,
) -> Result<(Mac, Vec<Zeroizing<String>>), Error> {
    walk(trees, metadata, key, Direction::Decrypt)
}

/// Encrypts every leaf that is to be in place; returns the MAC of the plaintext.
pub(crate) fn encrypt(trees: &mut [Node], metadata: &Metadata, key: &DataKey) -> Result<Mac, Error> {
    Ok(walk(trees, metadata, key, Direction::Encrypt)?.0)
}

fn walk(
    trees: &mut [Node],
    metadata: &Metadata,
    key: &DataKey,
    direction: Direction,
) -> Result<(Mac, Vec<Zeroizing<String>>), Error> {
    let mut walk = Walk {
        direction,
        key,
        scope: Scope::new(&metadata.rule)?,
        counter: Counter::new(metadata.mac_only_encrypted),
        path: Vec::new(),
        comments: Vec::new(),
        revealed: Vec::new(),
    };
    for tree in trees {
        walk.node(tree)?;
    }
    Ok((walk.counter.finish(), walk.revealed))
}

struct Walk<'k> {
    direction: Direction,
    key: &'k DataKey,
    scope: Scope,
    counter: Counter,
    path: Vec<String>,
    /// Of each open collection, the comments above the next entry.
    comments: Vec<Vec<String>>,
    revealed: Vec<Zeroizing<String>>,
}

impl Walk<'_> {
    fn node(&mut self, node: &mut Node) -> Result<(), Error> {
        match node {
            Node::Value(value) => self.value(value),
            Node::List(elements) => self.collection(elements, Self::element),
            Node::Map(members) => self.collection(members, Self::member),
        }
    }

    /// Visits the entries of a collection, which has comments of its own.
    fn collection<T>(
        &mut self,
        entries: &mut [T],
        visit: impl Fn(&mut Self, &mut T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.comments.push(Vec::new());
        entries.iter_mut().try_for_each(|entry| visit(self, entry))?;
        self.comments.pop();
        Ok(())
    }

    fn member(&mut self, member: &mut Member) -> Result<(), Error> {
        match member {
            Member::Comment(comment) => self.comment(comment),
            Member::Entry(key, node) => {
                self.path.push(key.clone());
                self.node(node)?;
                self.path.pop();
                self.clear_comments();
                Ok(())
            }
        }
    }

    /// SOPS makes encrypted elements of comments in lists.
    fn element(&mut self, element: &mut Element) -> Result<(), Error> {
        let sealed = match element {
            Element::Comment(comment) => return self.comment(comment),
            Element::Node(Node::Value(Value::Text(text))) => text.ends_with(COMMENT),
            Element::Node(_) => false,
        };
        let Element::Node(node) = element else { return Ok(()) };
        self.node(node)?;
        self.clear_comments();
        if let Node::Value(Value::Text(text)) = node
            && sealed
            && self.direction == Direction::Decrypt
            && !text.ends_with(COMMENT)
        {
            *element = Element::Comment(Comment { text: text.clone(), is_inline: false });
        }
        Ok(())
    }

    fn clear_comments(&mut self) {
        if let Some(comments) = self.comments.last_mut() {
            comments.clear();
        }
    }

    fn additional(&self) -> String {
        format!("{}:", self.path.join(":"))
    }

    fn value(&mut self, value: &mut Value) -> Result<(), Error> {
        if *value == Value::Null {
            return Ok(());
        }
        let is_encrypted = self.scope.is_encrypted(&self.path, &self.comments, false);
        if self.direction == Direction::Encrypt {
            self.counter.add(value, is_encrypted);
        }
        if is_encrypted {
            let changed = self.change(value);
            *value = changed.map_err(|source| Error::Value { path: self.path.join("."), source })?;
        }
        if self.direction == Direction::Decrypt {
            self.counter.add(value, is_encrypted);
        }
        Ok(())
    }

    fn change(&mut self, value: &Value) -> Result<Value, CipherError> {
        if self.direction == Direction::Encrypt {
            let sealed = cipher::encrypt(&Leaf::Value(value.clone()), self.key, &self.additional())?;
            return Ok(Value::text(sealed.unwrap_or_default()));
        }
        let Value::Text(text) = value else { return Err(CipherError::Type(value.type_name())) };
        match cipher::decrypt(text, self.key, &self.additional())? {
            Leaf::Value(value) => {
                // `true` and `false` are in every message.
                if !matches!(value, Value::Bool(_) | Value::Null) {
                    let bytes = value.bytes().unwrap_or_default();
                    self.revealed
                        .extend(std::str::from_utf8(&bytes).ok().map(|text| Zeroizing::new(text.to_owned())));
                }
                Ok(value)
            }
            Leaf::Comment(text) => Ok(Value::Text(text)),
        }
    }

    /// A comment that is not encrypted stays: old versions of SOPS left them alone.
    fn comment(&mut self, comment: &mut Comment) -> Result<(), Error> {
        if let Some(comments) = self.comments.last_mut() {
            comments.push(comment.text.to_string());
        }
        if !self.scope.is_encrypted(&self.path, &self.comments, true) {
            return Ok(());
        }
        let additional = self.additional();
        if self.direction == Direction::Encrypt {
            let leaf = Leaf::Comment(comment.text.clone());
            let sealed = cipher::encrypt(&leaf, self.key, &additional);
            let sealed = sealed.map_err(|source| Error::Value { path: self.path.join("."), source })?;
            comment.text = sealed.map_or_else(|| comment.text.clone(), Zeroizing::new);
        } else if let Ok(leaf) = cipher::decrypt(&comment.text, self.key, &additional) {
            match leaf {
                // SOPS forgets where an encrypted comment stood.
                Leaf::Comment(text) => *comment = Comment { text, is_inline: false },
                // Empty ones are not encrypted.
                Leaf::Value(Value::Text(text)) => comment.text = text,
                Leaf::Value(_) => {}
            }
        }
        Ok(())
    }
}
