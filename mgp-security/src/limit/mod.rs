//! Rate limits: bounds on how often a principal, a tool and a server may be used.
//!
//! ```
//! use std::num::NonZeroU32;
//!
//! use mgp_security::limit::{LimitGate, Limits, Rates};
//!
//! let sixty = NonZeroU32::new(60).expect("is not zero");
//! let limits = Limits::new().per_principal(Rates::new().per_minute(sixty)).per_server(Rates::new().per_hour(sixty));
//! let layer = LimitGate::new(limits);
//! # let _ = layer;
//! ```
//!
//! | | |
//! |---|---|
//! | [`LimitGate`] | refuses requests that come too often |
//! | [`Limits`] | the limits of principals, tools and servers |
//! | [`Rates`] | the rates of one limit |
//! | [`Limiter`] | the counts of calls, alone or together with other kernels |

mod gate;
pub(crate) mod limiter;

#[cfg(feature = "auth")]
pub(crate) use self::gate::limited;
pub use self::gate::{LimitGate, Limits};
pub use self::limiter::{Limiter, Rates, SharedUse};

#[cfg(test)]
mod tests;
