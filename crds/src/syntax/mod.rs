//! Syntax of names, labels and addresses. Each function says what is wrong with a text, or nothing.

pub(crate) mod address;
pub(crate) mod age;
pub(crate) mod duration;
pub(crate) mod eviction;
pub(crate) mod label;
pub(crate) mod name;
