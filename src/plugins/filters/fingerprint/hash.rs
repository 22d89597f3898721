//! The hashes: digests and their HMACs as hexadecimal digits or base64, and MurmurHash.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::SimpleHmac;
use hmac::digest::core_api::BlockSizeUser;
use hmac::digest::{Digest, FixedOutput, KeyInit, Update};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

use crate::event::{Text, Value};

/// Seed of the 128-bit MurmurHash, as Logstash has it.
const SEED: u32 = 2;

/// Which hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::plugins::filters) enum Algorithm {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
    Md5,
    /// 32 bits, as a number.
    Murmur3,
    /// 128 bits.
    Murmur3Long,
}

/// A hash with its key and the form in which it is written.
pub(in crate::plugins::filters) struct Hash {
    function: Function,
    base64: bool,
}

type DigestBytes = Box<dyn Fn(&[u8]) -> Digested + Send + Sync>;

enum Function {
    Digest(DigestBytes),
    Murmur3,
    Murmur3Long,
}

/// A digest of up to 64 bytes.
struct Digested {
    bytes: [u8; 64],
    length: usize,
}

impl Digested {
    fn new(content: &[u8]) -> Self {
        let mut bytes = [0; 64];
        let length = content.len().min(bytes.len());
        for (to, from) in bytes.iter_mut().zip(content) {
            *to = *from;
        }
        Self { bytes, length }
    }

    fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Hash {
    pub fn new(algorithm: Algorithm, key: Option<&[u8]>, base64: bool) -> Self {
        let function = match algorithm {
            Algorithm::Sha1 => digest::<Sha1>(key),
            Algorithm::Sha256 => digest::<Sha256>(key),
            Algorithm::Sha384 => digest::<Sha384>(key),
            Algorithm::Sha512 => digest::<Sha512>(key),
            Algorithm::Md5 => digest::<Md5>(key),
            Algorithm::Murmur3 => Function::Murmur3,
            Algorithm::Murmur3Long => Function::Murmur3Long,
        };
        Self { function, base64 }
    }

    /// The hash of a text.
    pub fn of_bytes(&self, bytes: &[u8]) -> Value {
        match &self.function {
            Function::Digest(digest) => self.written(digest(bytes).as_slice()),
            // Reading from memory cannot fail.
            Function::Murmur3 => {
                Value::Integer(i64::from(murmur3::murmur3_32(&mut Cursor::new(bytes), 0).unwrap_or_default()))
            }
            Function::Murmur3Long => {
                let hash = murmur3::murmur3_x64_128(&mut Cursor::new(bytes), SEED).unwrap_or_default();
                self.written(&hash.to_le_bytes())
            }
        }
    }

    /// The hash of an integer, where that is not the hash of its text.
    pub fn of_integer(&self, n: i64) -> Option<Value> {
        match self.function {
            Function::Digest(_) => None,
            Function::Murmur3 => Some(self.of_bytes(&n.to_le_bytes())),
            Function::Murmur3Long => Some(match i32::try_from(n) {
                Ok(n) => self.of_bytes(&n.to_le_bytes()),
                Err(_) => self.of_bytes(&n.to_le_bytes()),
            }),
        }
    }

    fn written(&self, hash: &[u8]) -> Value {
        if self.base64 {
            return Value::from(STANDARD.encode(hash));
        }
        let mut hex = [0; 128];
        for (to, byte) in hex.chunks_exact_mut(2).zip(hash) {
            for (to, digit) in to.iter_mut().zip([byte >> 4, byte & 15]) {
                *to = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
            }
        }
        let hex = hex.get(..hash.len() * 2).and_then(|hex| std::str::from_utf8(hex).ok());
        Value::String(Text::from(hex.unwrap_or_default()))
    }
}

/// A digest, or with a key its HMAC; the key is worked in once.
fn digest<D>(key: Option<&[u8]>) -> Function
where
    D: Digest + BlockSizeUser + Clone + Send + Sync + 'static,
{
    // Any length of key will do, so this never falls back.
    let keyed = key.and_then(|key| SimpleHmac::<D>::new_from_slice(key).ok());
    Function::Digest(match keyed {
        Some(keyed) => Box::new(move |bytes| {
            let mut mac = keyed.clone();
            Update::update(&mut mac, bytes);
            Digested::new(&mac.finalize_fixed())
        }),
        None => Box::new(|bytes| Digested::new(&D::digest(bytes))),
    })
}
