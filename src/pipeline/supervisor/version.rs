//! One state of a pipeline's configuration and settings, to see whether another one differs.

use crate::config::source::Sources;
use crate::config::{self, Texts};
use crate::pipeline::prepare::origin;
use crate::settings::PipelineSettings;

/// What a pipeline is to run with.
#[derive(Debug)]
pub(super) struct Version {
    pub settings: PipelineSettings,
    /// The texts that the places in the faults of the settings point into.
    pub sources: Sources,
    texts: Texts,
}

impl Version {
    /// As it is now. The files are looked at before anything is made of them: one that changes in between is seen the
    /// next time.
    pub fn now(settings: PipelineSettings, sources: Sources) -> Self {
        let texts = config::texts(&origin(&settings));
        Self { settings, sources, texts }
    }

    /// Why its files cannot be read now.
    pub fn unreadable(&self) -> Option<&str> {
        match &self.texts {
            Texts::Unreadable(reason) => Some(reason),
            Texts::Read(_) | Texts::NoFile => None,
        }
    }

    /// Whether it is a pattern that no file fits any more.
    pub fn has_no_file(&self) -> bool {
        self.texts == Texts::NoFile
    }

    /// Whether nothing that matters is different.
    pub fn is_like(&self, other: &Self) -> bool {
        self.texts == other.texts && self.settings.is_like(&other.settings)
    }
}
