mod board;
mod tools;
