use kube::api::ObjectMeta;

/// One state of one object: no other object of the same name, and no later state of it, is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Precise {
    /// `metadata.uid`
    pub(crate) uid: String,
    /// `metadata.resourceVersion`
    pub(crate) version: String,
}

impl Precise {
    /// Returns the state that an object was read in; nothing if the server did not say.
    pub(crate) fn of(meta: &ObjectMeta) -> Option<Self> {
        Some(Self { uid: meta.uid.clone()?, version: meta.resource_version.clone()? })
    }

    /// Compares two states of one object. Resource versions are numbers that grow (officially since Kubernetes 1.35, with etcd
    /// always); versions that are no numbers are never older.
    pub(crate) fn is_older(&self, than: &Self) -> bool {
        match (self.version.parse::<u64>(), than.version.parse::<u64>()) {
            (Ok(version), Ok(than)) => version < than,
            _ => false,
        }
    }
}
