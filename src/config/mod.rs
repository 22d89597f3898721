//! The configuration language: text to a checked tree, with every mistake reported at its place.

pub mod ast;
mod builder;
pub mod condition;
pub mod diagnostic;
mod grammar;
mod literal;
mod load;
mod merge;
mod scope;
pub mod source;
mod syntax;
mod variables;

pub use load::{Loaded, Origin, load, parse};
pub use scope::Language;
pub use variables::Variables;
pub(crate) use variables::{Reference, Resolved, tidy};
