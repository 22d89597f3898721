//! The configuration language: text to a checked tree, with every mistake reported at its place.

pub mod ast;
mod builder;
pub mod condition;
pub mod diagnostic;
mod digest;
mod files;
mod grammar;
pub mod lint;
mod literal;
mod load;
mod merge;
mod nearest;
pub mod render;
mod scope;
pub mod source;
mod syntax;
mod variables;

pub use digest::digest;
pub(crate) use files::alternatives;
pub use load::{Loaded, Origin, Texts, load, parse, read_piece, texts};
pub use nearest::{did_you_mean, nearest};
pub use scope::Language;
pub use variables::Variables;
pub(crate) use variables::{Piece, Resolved, pieces, tidy};

#[cfg(test)]
mod tests;
