//! `ecs_compatibility`, the option that decides a plugin's default field names.

use super::Options;
use crate::settings::Ecs;

impl Ecs {
    /// Declares and reads `ecs_compatibility`, whose default is the pipeline's.
    pub fn read(options: &mut Options<'_>) -> Self {
        let word = options
            .word("ecs_compatibility", &["disabled", "v1", "v8"])
            .doc("Which field names to use: the old flat ones or those of the Elastic Common Schema.")
            .optional();
        match word.as_deref() {
            Some("disabled") => Self::Disabled,
            Some("v1") => Self::V1,
            Some(_) => Self::V8,
            None => options.context().ecs,
        }
    }
}
