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
    has_inclusions: bool,
    inclusions: Vec<Regex>,
    exclusions: Vec<Regex>,
    /// Messages for people about expressions that do not compile.
    pub faults: Vec<String>,
}

impl MessageFilter {
    /// Compiles; an expression that does not compile is left out and noted.
    pub fn new(alert: &AlertSpec) -> Self {
        let mut faults = Vec::new();
        let mut compile = |list: &[String], what: &str| {
            let mut compiled = Vec::with_capacity(list.len());
            for text in list {
                match go_regex::compile(text) {
                    Ok(regex) => compiled.push(regex),
                    Err(_) => faults.push(format!("failed to compile {what} regex: {text}")),
                }
            }
            compiled
        };
        let inclusions = compile(&alert.inclusion_list, "inclusion");
        let exclusions = compile(&alert.exclusion_list, "exclusion");
        Self { has_inclusions: !alert.inclusion_list.is_empty(), inclusions, exclusions, faults }
    }

    /// Returns true when the message passes. A list of inclusions that has no valid one admits nothing.
    pub fn admits(&self, message: &str) -> bool {
        let is_included = !self.has_inclusions || self.inclusions.iter().any(|regex| regex.is_match(message));
        is_included && !self.exclusions.iter().any(|regex| regex.is_match(message))
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
