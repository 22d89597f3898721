//! Codecs, one file each, named as in a `.conf`.

pub mod cef;
pub(in crate::plugins) mod charset;
pub mod csv;
pub mod dots;
pub mod json;
pub mod json_lines;
pub mod line;
mod lines;
pub(crate) mod message;
pub mod multiline;
pub mod plain;
mod plain_text;
pub mod rubydebug;
