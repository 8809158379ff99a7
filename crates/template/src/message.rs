//! The data of a commit message (7.2) and its rendering.

mod engine;
mod image;
mod json;
mod structs;

use std::collections::BTreeMap;

use weir_setters::{Change, Image, PolicyName, Update};

pub use self::engine::{Engine, UnknownEngine};
use self::engine::{has_handlebars, hint, says_handlebars};
use crate::go::TemplateError;
use crate::handlebars::HandlebarsError;
use crate::limit::Elapsed;
use crate::{go, handlebars};

/// The message when the manifest has no template.
pub const DEFAULT_MESSAGE: &str = "Update from image update automation";

/// The name under which errors of the template are reported.
const NAME: &str = "commit message";

/// A parsed commit message template.
#[derive(Debug)]
pub struct Message(Template);

#[derive(Debug)]
enum Template {
    Go(go::Template),
    Handlebars(handlebars::Template),
}

/// Errors that leave a commit without a message; the texts of Go templates are Flux's and appear in conditions (TP-4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The Go template does not parse.
    #[error("unable to create commit message template from spec: {error}{}", hint(.error))]
    Parse {
        /// The fault.
        #[source]
        error: TemplateError,
    },
    /// The Go template failed while it ran.
    #[error("failed to run template from spec: {0}")]
    Run(#[source] TemplateError),
    /// The Handlebars template does not parse.
    #[error("unable to create commit message template from spec: {0}")]
    ParseHandlebars(#[source] HandlebarsError),
    /// The Handlebars template failed while it ran.
    #[error("failed to run template from spec: {0}")]
    RunHandlebars(#[source] HandlebarsError),
}

/// The data that a template can read.
#[derive(Debug)]
pub struct MessageData<'d> {
    /// The namespace of the automation.
    pub namespace: &'d str,
    /// The name of the automation.
    pub name: &'d str,
    /// Changes of the run.
    pub update: &'d Update,
    /// `messageTemplateValues`.
    pub values: &'d BTreeMap<String, String>,
}

impl Message {
    /// Parses a template; an empty one is the default message. Without an engine, the template shows which is meant: it is Go's unless it
    /// begins with a comment of Handlebars, or is no Go template and has something that only Handlebars has (TP-2).
    ///
    /// # Errors
    /// [`MessageError::Parse`] and [`MessageError::ParseHandlebars`].
    pub fn parse(template: &str, engine: Option<Engine>) -> Result<Self, MessageError> {
        let template = if template.is_empty() { DEFAULT_MESSAGE } else { template };
        let go = || {
            go::Template::parse(NAME, template)
                .map(Template::Go)
                .map_err(|error| MessageError::Parse { error })
        };
        let handlebars = || {
            let parsed = handlebars::Template::parse(NAME, template);
            parsed.map(Template::Handlebars).map_err(MessageError::ParseHandlebars)
        };
        let parsed = match engine {
            Some(Engine::Go) => go(),
            Some(Engine::Handlebars) => handlebars(),
            None if says_handlebars(template) => handlebars(),
            None => go().or_else(|error| if has_handlebars(template) { handlebars() } else { Err(error) }),
        };
        parsed.map(Self)
    }

    /// Renders the message, byte for byte what goes into the commit. `elapsed` returns the time since the call.
    ///
    /// # Errors
    /// [`MessageError::Run`] and [`MessageError::RunHandlebars`].
    pub fn render(&self, data: &MessageData<'_>, elapsed: &Elapsed<'_>) -> Result<String, MessageError> {
        match &self.0 {
            Template::Go(template) => template.render(data.structs(), elapsed).map_err(MessageError::Run),
            Template::Handlebars(template) => {
                template.render(&data.json(), elapsed).map_err(MessageError::RunHandlebars)
            }
        }
    }
}

impl MessageData<'_> {
    /// The distinct images behind changes, in the order of the changes (TP-6).
    fn distinct_images(&self, changes: &[&Change]) -> Vec<(&PolicyName, &Image)> {
        let mut seen: Vec<(&PolicyName, &Image)> = Vec::new();
        for found in changes.iter().filter_map(|change| self.update.image(change)) {
            if !seen.contains(&found) {
                seen.push(found);
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests;
