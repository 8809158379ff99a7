//! The state that the steps of one build share.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

use crate::config::Config;
use crate::error::Error;
use crate::files::Files;
use crate::fs::FsPath;
use crate::options::{CustomSchema, Options, Output, Warning};
use crate::quote::SecretPart;
use crate::resource::Resource;
use crate::schema::Schema;

/// The state that all steps of one build share.
pub(crate) struct Build<'b> {
    pub(crate) files: Files<'b>,
    pub(crate) options: &'b Options,
    /// Directory of the build; origins are relative to it.
    pub(crate) root: FsPath,
    /// The configuration every kustomization starts from.
    pub(crate) defaults: Arc<Config>,
    /// True when origins and transformations are recorded (KZ-1313).
    pub(crate) is_tracking: bool,
    custom_schema: OnceCell<Schema>,
    /// True when the built-in schema has decided something already.
    has_used_schema: Cell<bool>,
    warnings: RefCell<Vec<Warning>>,
    secret_parts: RefCell<Vec<SecretPart>>,
}

impl<'b> Build<'b> {
    /// Nothing has been done yet.
    pub(crate) fn new(files: Files<'b>, options: &'b Options, root: FsPath) -> Self {
        Self {
            files,
            options,
            root,
            defaults: Config::defaults(),
            is_tracking: false,
            custom_schema: OnceCell::new(),
            has_used_schema: Cell::new(false),
            warnings: RefCell::default(),
            secret_parts: RefCell::default(),
        }
    }

    /// Ends the build with these resources.
    pub(crate) fn into_output(self, resources: Vec<Resource>) -> Output {
        Output {
            resources,
            warnings: self.warnings.into_inner(),
            read_set: self.files.into_read_set(),
            secret_parts: self.secret_parts.into_inner(),
        }
    }

    /// The types that are known, the custom ones included once they are set.
    pub(crate) fn schema(&self) -> &Schema {
        self.custom_schema.get().unwrap_or_else(|| Schema::built_in())
    }

    /// Sets the schema, unless one is set already (KZ-1211).
    pub(crate) fn set_schema(
        &self,
        make: impl FnOnce(Option<&Schema>) -> Result<Schema, Error>,
    ) -> Result<(), Error> {
        if self.custom_schema.get().is_some() {
            return Ok(());
        }
        let base = match self.options.custom_schema {
            CustomSchema::Extends => Some(Schema::built_in()),
            // A base sets it too late to replace what was used before; then the reference ends up with both.
            CustomSchema::Replaces => self.has_used_schema.get().then(Schema::built_in),
        };
        let schema = make(base)?;
        // Nobody else sets it in between.
        let _set = self.custom_schema.set(schema);
        Ok(())
    }

    /// Notes that a resource was looked up in the schema.
    pub(crate) fn note_schema_use(&self, resource: &Resource) {
        if !self.has_used_schema.get() && !Schema::built_in().knows(resource.gvk()) {
            self.has_used_schema.set(true);
        }
    }

    /// Keeps a part of a Secret's value that was copied elsewhere for the output.
    pub(crate) fn keep_secret(&self, part: &str) {
        self.secret_parts.borrow_mut().push(SecretPart::new(part));
    }

    /// Tells of a warning, and keeps it for the output.
    pub(crate) fn warn(&self, warning: Warning) {
        (self.options.on_warning)(&warning);
        self.warnings.borrow_mut().push(warning);
    }
}
