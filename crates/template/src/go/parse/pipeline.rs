//! Pipelines, commands and operands.

use super::{Fault, Parser, literal};
use crate::go::{
    function,
    lex::{Kind, Token},
    node::{Command, Operand, OperandKind, Pipe},
};

impl<'s> Parser<'s> {
    /// Reads commands up to the token that ends the pipeline.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipe, Fault> {
        let at = self.peek_non_space().at;
        let mut pipe = Pipe { at, declared: Vec::new(), is_assignment: false, commands: Vec::new() };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.peek_non_space();
            if token.kind == end {
                self.next();
                return self.checked(pipe, context);
            }
            if !starts_operand(token.kind) {
                self.next();
                return Err(self.unexpected(&token, context));
            }
            pipe.commands.push(self.command()?);
        }
    }

    /// Reads `$x :=`, `$x =` or, in a range, `$k, $v :=`.
    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Result<(), Fault> {
        while self.peek_non_space().kind == Kind::Variable {
            let after = usize::from(self.peek_at(1).kind == Kind::Space) + 1;
            let operator = self.peek_at(after);
            let is_comma = operator.kind == Kind::Character && operator.text == ",";
            if !is_comma && !matches!(operator.kind, Kind::Declare | Kind::Assign) {
                return Ok(());
            }
            let name = self.next().text.into_owned();
            self.next_non_space();
            pipe.declared.push(name.clone());
            self.variables.push(name);
            if !is_comma {
                pipe.is_assignment = operator.kind == Kind::Assign;
                return Ok(());
            }
            if context != "range" || pipe.declared.len() > 1 {
                return Err(self.fault(format!("too many declarations in {context}")));
            }
            if !matches!(self.peek_non_space().kind, Kind::Variable | Kind::Close | Kind::RightParen) {
                return Err(self.fault("range can only initialize variables"));
            }
        }
        Ok(())
    }

    /// Refuses empty pipelines, and values where a function must stand.
    fn checked(&self, pipe: Pipe, context: &str) -> Result<Pipe, Fault> {
        if pipe.commands.is_empty() {
            return Err(self.fault(format!("missing value for {context}")));
        }
        let is_value = |command: &Command| {
            matches!(command.first.kind, OperandKind::Dot | OperandKind::Nil | OperandKind::Literal(..))
        };
        match pipe.commands.iter().skip(1).position(is_value) {
            Some(index) => Err(self.fault(format!("non executable command in pipeline stage {}", index + 2))),
            None => Ok(pipe),
        }
    }

    fn command(&mut self) -> Result<Command, Fault> {
        let at = self.peek_non_space().at;
        let mut operands = Vec::new();
        loop {
            self.skip_space();
            if let Some(operand) = self.operand()? {
                operands.push(operand);
            }
            let token = self.peek();
            match token.kind {
                Kind::Space => {
                    self.next();
                    continue;
                }
                Kind::Close | Kind::RightParen => {}
                Kind::Pipe => {
                    self.next();
                }
                _ => {
                    self.next();
                    return Err(self.unexpected(&token, "operand"));
                }
            }
            break;
        }
        let mut operands = operands.into_iter();
        let first = operands.next().ok_or_else(|| self.fault("empty command"))?;
        Ok(Command { at, first, rest: operands.collect() })
    }

    /// Reads a term and the fields chained to it.
    fn operand(&mut self) -> Result<Option<Operand>, Fault> {
        let Some(term) = self.term()? else { return Ok(None) };
        if self.peek().kind != Kind::Field {
            return Ok(Some(term));
        }
        // Go places a chain where its second part begins.
        let at = self.peek().at;
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(field_name(&self.next()));
        }
        let kind = match term.kind {
            OperandKind::Field(mut names) => {
                names.append(&mut fields);
                OperandKind::Field(names)
            }
            OperandKind::Variable(name, mut names) => {
                names.append(&mut fields);
                OperandKind::Variable(name, names)
            }
            OperandKind::Dot | OperandKind::Nil | OperandKind::Literal(..) => {
                return Err(self.fault(format!("unexpected . after term {:?}", term.to_string())));
            }
            OperandKind::Function(_) | OperandKind::Pipe(_) | OperandKind::Chain(..) => {
                OperandKind::Chain(Box::new(term), fields)
            }
        };
        Ok(Some(Operand { at, kind }))
    }

    fn term(&mut self) -> Result<Option<Operand>, Fault> {
        let token = self.peek_non_space();
        let text = token.text.to_string();
        let kind = match token.kind {
            Kind::Identifier if function::is_known(&text) => OperandKind::Function(text),
            Kind::Identifier => return Err(self.fault(format!("function {text:?} not defined"))),
            Kind::Dot => OperandKind::Dot,
            Kind::Nil => OperandKind::Nil,
            Kind::Variable if self.variables.contains(&text) => OperandKind::Variable(text, Vec::new()),
            Kind::Variable => return Err(self.fault(format!("undefined variable {text:?}"))),
            Kind::Field => OperandKind::Field(vec![field_name(&token)]),
            Kind::Bool | Kind::Number | Kind::CharacterConstant | Kind::QuotedText | Kind::RawText => {
                let literal = literal::parse(token.kind, &text).map_err(|message| self.fault(message))?;
                OperandKind::Literal(literal, text)
            }
            Kind::LeftParen => {
                self.next();
                let pipe =
                    self.nested(|parser| parser.pipeline("parenthesized pipeline", Kind::RightParen))?;
                return Ok(Some(Operand { at: pipe.at, kind: OperandKind::Pipe(Box::new(pipe)) }));
            }
            _ => return Ok(None),
        };
        self.next();
        Ok(Some(Operand { at: token.at, kind }))
    }
}

fn field_name(token: &Token<'_>) -> String {
    token.text.trim_start_matches('.').to_owned()
}

fn starts_operand(kind: Kind) -> bool {
    use Kind::{
        Bool, CharacterConstant, Dot, Field, Identifier, LeftParen, Nil, Number, QuotedText, RawText,
        Variable,
    };
    matches!(
        kind,
        Bool | CharacterConstant
            | Dot
            | Field
            | Identifier
            | LeftParen
            | Nil
            | Number
            | QuotedText
            | RawText
            | Variable
    )
}
