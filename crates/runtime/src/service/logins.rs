//! Logins to clouds and GitHub, as the flags that every service has ask for.

use weir_auth::{LoginOptions, Logins};

use super::{Service, ServiceError, SharedServers};
use crate::gate::WORKLOAD_IDENTITY;

impl Service {
    /// Logins on behalf of objects, one set for all kinds of a service, with their metrics (SRC-CLD-2, SRC-CLD-3,
    /// SRC-CLD-7). `default_account` is the ServiceAccount of objects that name none; empty is the Pod. The services of one
    /// process keep theirs together: `--token-cache-max-size` and the metrics are the process's.
    ///
    /// # Errors
    /// When objects have a default identity but may not have identities.
    pub fn logins(&self, default_account: &str) -> Result<Logins, ServiceError> {
        let logins = match self.env.shared.as_ref().map(SharedServers::logins) {
            None => self.new_logins()?,
            Some(shared) => {
                let mut shared = shared.lock();
                match &*shared {
                    Some(logins) => logins.clone(),
                    None => shared.insert(self.new_logins()?).clone(),
                }
            }
        };
        Ok(logins.with_default(default_account)?)
    }

    fn new_logins(&self) -> Result<Logins, ServiceError> {
        let options = LoginOptions {
            // All services have this gate, and those of one process the same value.
            workload_identity: self.gates.enabled(WORKLOAD_IDENTITY),
            default_account: String::new(),
            cache_size: self.args.token_cache_max_size.into(),
            cache_duration: self.args.token_cache_max_duration.to_std(),
        };
        let logins = Logins::new(self.env.client.clone(), options)?;
        self.env.metrics.register(|registry| logins.register(registry));
        Ok(logins)
    }
}
