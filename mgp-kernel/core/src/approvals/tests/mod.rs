//! A gateway for one server, of either era, and what its clients see; and calls that wait for an operator.

mod attacks;
mod crowd;
mod elicitations;
mod matching;
mod parking;
mod quadrants;
mod telling;
mod waiting;
mod world;
