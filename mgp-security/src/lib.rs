//! Security for MCP and MGP requests: permissions (MGP §3), tool security and validators (§4), access control (§5), the
//! audit trail (§6) and code safety (§7), each a gate or a layer that can be used alone.
//!
//! A section that only decides is a [`Gate`](mgp_types::Gate), which [`GateLayer`](mgp_types::GateLayer) turns into a
//! tower layer; a section that also fetches, records or ends calls is a layer. The same gates and layers work in front
//! of a server, behind a client and within a gateway. They exchange data only through the slots of
//! [`Context`](mgp_types::Context); a gate or layer whose slot is empty refuses. Validators, permissions, and confirmation need to
//! know what a request asks for: in a program without a kernel, `tool::ToolsGate` and `tool::OperationsGate` write that.
//!
//! ```
//! # #[cfg(feature = "validate")] {
//! use mgp_security::tool::{ToolRules, effective};
//! use mgp_security::command::{CommandPolicy, check_command};
//! use mgp_types::Object;
//! use mgp_types::mgp::RiskLevel;
//!
//! // A plain MCP server says nothing of security, so it is derived.
//! let tool = Object::parse(r#"{"name":"run","inputSchema":{"properties":{"command":{"type":"string"}}}}"#).unwrap();
//! assert_eq!(effective(&tool, &ToolRules::default()).risk, RiskLevel::Dangerous);
//!
//! let finding = check_command("env rm -r -f ~", &CommandPolicy::default()).unwrap_err();
//! assert_eq!(finding.rule, "recursive-delete");
//! # }
//! ```
//!
//! | feature | module | purpose |
//! |---|---|---|
//! | `permission` | `permission`, `confirmation` | permissions of servers; human approval of one call (§3, §4.4) |
//! | `validate` | `tool`, `validator`, `command`, `definition` | tools, their arguments and their definitions (§4) |
//! | `access` | `access` | which agent may use which tool (§5) |
//! | `audit` | `audit` | a tamper-evident record of events (§6) |
//! | `code-safety` | `code_safety` | what submitted code may do (§7) |
//! | `auth` | `auth`, `oauth` | API keys, and tokens of OAuth 2.1 in their place |
//! | `limit` | `limit` | rate limits |
//! | `network` | `network` | network targets that may be reached, and bounded requests to them |
//! | `jose` | `jose` | signed tokens, keys, and proofs of possession |
//! | `scope` | `scope` | scopes of callers, and sessions of them |
//! | `schema` | `Schema` | JSON Schema, without fetching |
//! | `ext` | `ArgumentJudge`, `Violation` | the faults of a value one by one, and patterns that take linear time |
//! | `sqlite` | `sqlite` | the database in which `access`, `audit`, `auth`, `permission` and `validate`, which bring it, store what outlives the process |
//!
//! With `validate` and `code-safety`, the module `check` judges single inputs. With `validate`, `ext` and `network`, the
//! module `reference` fetches data of other servers by reference.
//!
//! No feature is on by default. [`RejectGate`], which decides how a refusal looks to the caller, is always available.

#[cfg(feature = "access")]
pub mod access;
#[cfg(feature = "audit")]
pub mod audit;
#[cfg(feature = "auth")]
pub mod auth;
#[cfg(any(feature = "validate", feature = "network"))]
mod characters;
#[cfg(all(feature = "validate", feature = "code-safety"))]
pub mod check;
mod clock;
#[cfg(feature = "code-safety")]
pub mod code_safety;
#[cfg(feature = "validate")]
pub mod command;
#[cfg(feature = "permission")]
pub mod confirmation;
#[cfg(feature = "validate")]
mod data_file;
#[cfg(feature = "validate")]
pub mod definition;
#[cfg(test)]
mod doubles;
mod finding;
#[cfg(feature = "jose")]
pub mod jose;
#[cfg(feature = "latest-time")]
mod latest_time;
#[cfg(feature = "limit")]
pub mod limit;
#[cfg(any(feature = "access", feature = "auth"))]
mod listing;
#[cfg(any(feature = "permission", feature = "validate"))]
mod named;
#[cfg(any(feature = "validate", feature = "network"))]
pub mod network;
#[cfg(feature = "auth")]
pub mod oauth;
#[cfg(feature = "validate")]
pub mod path;
#[cfg(any(feature = "schema", feature = "validate", feature = "network"))]
mod percent;
#[cfg(feature = "permission")]
pub mod permission;
#[cfg(all(feature = "ext", feature = "network", feature = "validate"))]
pub mod reference;
#[cfg(feature = "refusal")]
mod refusal;
mod reject;
#[cfg(feature = "schema")]
mod schema;
#[cfg(feature = "scope")]
pub mod scope;
#[cfg(feature = "permission")]
mod secret;
#[cfg(feature = "validate")]
mod shell;
#[cfg(feature = "validate")]
pub(crate) mod text;
#[cfg(feature = "validate")]
pub mod tool;
#[cfg(feature = "validate")]
pub mod validator;
#[cfg(any(feature = "audit", feature = "permission", feature = "validate"))]
mod visible;
pub use clock::Clock;
pub use finding::Finding;
#[cfg(feature = "sqlite")]
pub use mgp_store::StoreError;
#[cfg(any(feature = "validate", feature = "permission", feature = "audit"))]
pub use mgp_types::canonical::{CanonicalError, Digest, digest};
pub use reject::RejectGate;
#[cfg(feature = "ext")]
pub use schema::{ArgumentJudge, Violation};
#[cfg(feature = "schema")]
pub use schema::{Schema, SchemaFault, SchemaViolation};
