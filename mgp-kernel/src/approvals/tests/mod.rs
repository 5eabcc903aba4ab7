//! A gateway for one server, of either era, and what its clients see.

mod attacks;
mod crowd;
mod matching;
mod parking;
mod quadrants;
mod telling;
mod world;
