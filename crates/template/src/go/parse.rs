//! The parser: Go's grammar, with Go's complaints.

mod literal;
mod pipeline;

use std::collections::{BTreeMap, VecDeque};

use super::{
    lex::{Kind, Lexer, Token},
    node::{Branch, List, Node, Pipe},
};
use crate::limit::MAX_DEPTH;

/// A fault with its line.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) message: String,
}

/// The end of a list of nodes.
enum Stop {
    End,
    Else,
}

impl Stop {
    fn text(&self) -> &'static str {
        match self {
            Self::End => "{{end}}",
            Self::Else => "{{else}}",
        }
    }
}

/// The kind of an action.
enum Action {
    Node(Node),
    Stop(Stop),
}

pub(super) struct Parser<'s> {
    name: &'s str,
    lexer: Lexer<'s>,
    ahead: VecDeque<Token<'s>>,
    /// The line of the token read last.
    line: usize,
    /// The line of the action being read, 0 outside.
    action_line: usize,
    variables: Vec<String>,
    loops: usize,
    depth: usize,
    defined: BTreeMap<String, List>,
}

impl<'s> Parser<'s> {
    pub(super) fn new(name: &'s str, source: &'s str) -> Self {
        Self {
            name,
            lexer: Lexer::new(source),
            ahead: VecDeque::new(),
            line: 1,
            action_line: 0,
            variables: vec!["$".to_owned()],
            loops: 0,
            depth: 0,
            defined: BTreeMap::new(),
        }
    }

    /// Parses the whole text: the main template and those defined inside.
    pub(super) fn run(mut self) -> Result<(List, BTreeMap<String, List>), Fault> {
        let mut root = List::default();
        while self.peek().kind != Kind::End {
            if self.is_definition() {
                self.definition()?;
                continue;
            }
            match self.text_or_action()? {
                Action::Node(node) => root.0.push(node),
                Action::Stop(stop) => return Err(self.fault(format!("unexpected {}", stop.text()))),
            }
        }
        Ok((root, self.defined))
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { line: self.line, message: message.into() }
    }

    fn unexpected(&self, token: &Token<'_>, context: &str) -> Fault {
        if token.kind != Kind::Error {
            return self.fault(format!("unexpected {} in {context}", token.describe()));
        }
        let mut message = token.describe();
        if self.action_line != 0 && self.action_line != token.line {
            let prefix = if message.ends_with(" action") { "" } else { " in action" };
            message.push_str(&format!("{prefix} started at {}:{}", self.name, self.action_line));
        }
        Fault { line: token.line, message }
    }

    fn fill(&mut self, count: usize) {
        while self.ahead.len() < count {
            let token = self.lexer.next();
            self.line = token.line;
            self.ahead.push_back(token);
        }
    }

    fn next(&mut self) -> Token<'s> {
        self.fill(1);
        self.ahead.pop_front().unwrap_or_else(|| self.lexer.next())
    }

    fn peek(&mut self) -> Token<'s> {
        self.peek_at(0)
    }

    fn peek_at(&mut self, index: usize) -> Token<'s> {
        self.fill(index + 1);
        self.ahead.get(index).cloned().unwrap_or_else(|| self.lexer.next())
    }

    fn next_non_space(&mut self) -> Token<'s> {
        self.skip_space();
        self.next()
    }

    fn peek_non_space(&mut self) -> Token<'s> {
        self.skip_space();
        self.peek()
    }

    fn skip_space(&mut self) {
        while self.peek().kind == Kind::Space {
            self.next();
        }
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token<'s>, Fault> {
        let token = self.next_non_space();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(&token, context)) }
    }

    /// Counts a level of nesting around `inner`.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault("max nesting depth exceeded"));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Looks for `{{ define` without taking it.
    fn is_definition(&mut self) -> bool {
        if self.peek().kind != Kind::Open {
            return false;
        }
        let after = if self.peek_at(1).kind == Kind::Space { self.peek_at(2) } else { self.peek_at(1) };
        after.kind == Kind::Keyword && after.text == "define"
    }

    fn definition(&mut self) -> Result<(), Fault> {
        self.next();
        self.next_non_space();
        let context = "define clause";
        let name = self.template_name(context)?;
        self.expect(Kind::Close, context)?;
        self.define(name, context)
    }

    /// Reads a template up to its `end`; of the variables around it, it sees none.
    fn define(&mut self, name: String, context: &str) -> Result<(), Fault> {
        let outer = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let (body, stop) = self.nested(Self::list)?;
        self.variables = outer;
        if let Stop::Else = stop {
            return Err(self.fault(format!("unexpected {} in {context}", stop.text())));
        }
        self.defined.insert(name, body);
        Ok(())
    }

    fn template_name(&mut self, context: &str) -> Result<String, Fault> {
        let token = self.next_non_space();
        match token.kind {
            Kind::QuotedText | Kind::RawText => {
                literal::text(&token.text).ok_or_else(|| self.fault("invalid syntax"))
            }
            _ => Err(self.unexpected(&token, context)),
        }
    }

    /// Nodes up to `{{end}}` or `{{else}}`.
    fn list(&mut self) -> Result<(List, Stop), Fault> {
        let mut list = List::default();
        while self.peek_non_space().kind != Kind::End {
            match self.text_or_action()? {
                Action::Node(node) => list.0.push(node),
                Action::Stop(stop) => return Ok((list, stop)),
            }
        }
        Err(self.fault("unexpected EOF"))
    }

    fn text_or_action(&mut self) -> Result<Action, Fault> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => Ok(Action::Node(Node::Text(token.text.into_owned()))),
            Kind::Open => {
                self.action_line = token.line;
                let action = self.nested(Self::action);
                self.action_line = 0;
                action
            }
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    fn action(&mut self) -> Result<Action, Fault> {
        let token = self.peek_non_space();
        if token.kind != Kind::Keyword || token.text == "define" {
            return Ok(Action::Node(Node::Action(self.pipeline("command", Kind::Close)?)));
        }
        self.next();
        let node = match &*token.text {
            "end" => {
                self.expect(Kind::Close, "end")?;
                return Ok(Action::Stop(Stop::End));
            }
            "else" => {
                // `{{else if` and `{{else with` are read as a branch inside the else.
                let next = self.peek_non_space();
                if !(next.kind == Kind::Keyword && matches!(&*next.text, "if" | "with")) {
                    self.expect(Kind::Close, "else")?;
                }
                return Ok(Action::Stop(Stop::Else));
            }
            "if" => Node::If(self.branch("if")?),
            "range" => Node::Range(self.branch("range")?),
            "with" => Node::With(self.branch("with")?),
            "template" => self.call(token.at)?,
            "block" => self.block(token.at)?,
            "break" => self.leave_loop("{{break}}", Node::Break)?,
            _ => self.leave_loop("{{continue}}", Node::Continue)?,
        };
        Ok(Action::Node(node))
    }

    fn leave_loop(&mut self, text: &str, node: Node) -> Result<Node, Fault> {
        self.expect(Kind::Close, text)?;
        if self.loops == 0 {
            return Err(self.fault(format!("{text} outside {{{{range}}}}")));
        }
        Ok(node)
    }

    fn branch(&mut self, context: &str) -> Result<Branch, Fault> {
        let mark = self.variables.len();
        let pipe = self.pipeline(context, Kind::Close)?;
        let is_range = usize::from(context == "range");
        self.loops += is_range;
        let body = self.nested(Self::list);
        self.loops -= is_range;
        let (body, stop) = body?;
        let otherwise = match stop {
            Stop::End => None,
            Stop::Else => Some(self.otherwise(context)?),
        };
        self.variables.truncate(mark);
        Ok(Branch { pipe, body, otherwise })
    }

    fn otherwise(&mut self, context: &str) -> Result<List, Fault> {
        let next = self.peek_non_space();
        if context != "range" && next.kind == Kind::Keyword && next.text == context {
            self.next();
            let branch = self.nested(|parser| parser.branch(context))?;
            return Ok(List(vec![if context == "if" { Node::If(branch) } else { Node::With(branch) }]));
        }
        let (list, stop) = self.nested(Self::list)?;
        match stop {
            Stop::End => Ok(list),
            Stop::Else => Err(self.fault(format!("expected end; found {}", stop.text()))),
        }
    }

    fn call(&mut self, at: usize) -> Result<Node, Fault> {
        let context = "template clause";
        let at_name = self.peek_non_space().at.max(at);
        let name = self.template_name(context)?;
        let pipe = self.argument(context)?;
        Ok(Node::Call { at: at_name, name, pipe })
    }

    /// The pipeline of a `template` action, if there is one.
    fn argument(&mut self, context: &str) -> Result<Option<Pipe>, Fault> {
        if self.peek_non_space().kind == Kind::Close {
            self.next();
            return Ok(None);
        }
        self.pipeline(context, Kind::Close).map(Some)
    }

    fn block(&mut self, at: usize) -> Result<Node, Fault> {
        let context = "block clause";
        let name = self.template_name(context)?;
        let pipe = self.pipeline(context, Kind::Close)?;
        self.define(name.clone(), context)?;
        Ok(Node::Call { at, name, pipe: Some(pipe) })
    }
}
