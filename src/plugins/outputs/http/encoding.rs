//! Bytes of a body: form encoding and compression.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Writes a name or value of a form: a blank is a plus, and what is no letter, digit or one of `*-._` is `%XX`.
pub(super) fn form_encoded(text: &str, out: &mut Vec<u8>) {
    out.extend(url::form_urlencoded::byte_serialize(text.as_bytes()).flat_map(str::bytes));
}

/// The bytes as gzip.
pub(super) fn compressed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}
