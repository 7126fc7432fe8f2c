pub mod owner;
