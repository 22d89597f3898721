//! Codecs, one file each, named as in a `.conf`.

mod charset;
pub mod dots;
pub mod json;
pub mod json_lines;
pub mod line;
mod lines;
mod message;
pub mod plain;
mod plain_text;
pub mod rubydebug;
