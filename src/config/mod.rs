//! The configuration language: text to a checked tree, with every mistake reported at its place.

pub mod ast;
pub mod condition;
pub mod diagnostic;
pub mod source;
