//! Inclusion and exclusion of events by their message (NTF-28, NTF-29).

use std::sync::Arc;

use moka::sync::Cache;
use regex::Regex;
use weir_api::Alert;
use weir_api::notification::AlertSpec;
use weir_policy::go_regex;

/// Alerts whose expressions are kept compiled; beyond it they are compiled again.
const MAX_COMPILED: u64 = 4096;

/// The compiled expressions of one Alert.
#[derive(Debug, Default)]
pub struct MessageFilter {
    inclusions: Vec<Compiled>,
    exclusions: Vec<Compiled>,
}

/// An expression, or the message for people about one that does not compile.
type Compiled = Result<Regex, String>;

impl MessageFilter {
    /// Compiles all expressions.
    pub fn new(alert: &AlertSpec) -> Self {
        let compile = |list: &[String], what: &str| {
            let compiled = |text: &String| {
                go_regex::compile(text).map_err(|_| format!("failed to compile {what} regex: {text}"))
            };
            list.iter().map(compiled).collect()
        };
        Self {
            inclusions: compile(&alert.inclusion_list, "inclusion"),
            exclusions: compile(&alert.exclusion_list, "exclusion"),
        }
    }

    /// Returns true when the message passes. A list of inclusions that has no valid one admits nothing. `report` gets the
    /// messages about expressions that do not compile, as far as the verdict asks for them.
    pub fn admits(&self, message: &str, mut report: impl FnMut(&str)) -> bool {
        let mut has_match = |list: &[Compiled]| {
            list.iter().any(|expression| match expression {
                Ok(regex) => regex.is_match(message),
                Err(fault) => {
                    report(fault);
                    false
                }
            })
        };
        (self.inclusions.is_empty() || has_match(&self.inclusions)) && !has_match(&self.exclusions)
    }
}

/// Compiled filters by object and generation.
#[derive(Clone)]
pub struct MessageFilters {
    compiled: Cache<(String, i64), Arc<MessageFilter>>,
}

impl Default for MessageFilters {
    fn default() -> Self {
        Self { compiled: Cache::new(MAX_COMPILED) }
    }
}

impl MessageFilters {
    /// The filter of an Alert as it is now.
    pub fn of(&self, alert: &Alert) -> Arc<MessageFilter> {
        let meta = &alert.metadata;
        let key = (meta.uid.clone().unwrap_or_default(), meta.generation.unwrap_or_default());
        self.compiled.get_with(key, || Arc::new(MessageFilter::new(&alert.spec)))
    }
}
