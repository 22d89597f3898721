//! `dots`: a dot for each event, to watch throughput.

use std::sync::Arc;

use crate::event::Event;
use crate::plugins::{Codec, CodecPlugin, EncodeError, Encoder, Options};

/// The plugin.
pub const PLUGIN: CodecPlugin = CodecPlugin { name: "dots", summary: "A dot for each event.", build };

fn build(_: &mut Options<'_>) -> Codec {
    Codec { decoders: None, encoder: Some(Arc::new(Dots)) }
}

struct Dots;

impl Encoder for Dots {
    fn encode(&self, _: &Event, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(b'.');
        Ok(())
    }
}
