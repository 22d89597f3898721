//! Codecs, one file each, named as in a `.conf`.

mod charset;
pub mod line;
mod plain_text;
