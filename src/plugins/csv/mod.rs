//! Values between separators, for the filter and the codec `csv`: reading as strictly as Ruby's csv library, types of
//! columns, and writing lines that read back.

mod conversion;
mod literal;
mod record;
mod write;

pub use conversion::Conversion;
pub use record::{Malformed, Syntax};
