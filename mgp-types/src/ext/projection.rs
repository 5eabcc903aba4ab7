//! One table of what each code is called in the other forms of an error.

use super::envelope::ErrorType;
use super::structured_error::ErrorClass;
use crate::mgp::{Category, code};

/// The forms of an error code beside the number of MGP.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorProjection {
    /// The word of a structured error.
    pub word: &'static str,
    /// The class of a structured error.
    pub class: ErrorClass,
    /// The kind of an error in an envelope.
    pub envelope: ErrorType,
    /// The number of the tool registry.
    pub registry: i64,
}

/// The numbers of the tool registry, which only its own profile writes.
pub mod registry_code {
    /// The input does not fit the tool's schema.
    pub const VALIDATION_ERROR: i64 = -32001;
    /// The tool does not exist.
    pub const TOOL_NOT_FOUND: i64 = -32002;
    /// The tool crashed or took too long.
    pub const TOOL_EXECUTION: i64 = -32003;
    /// The caller could not prove who it is.
    pub const AUTHENTICATION_ERROR: i64 = -32004;
    /// The caller may not do this.
    pub const AUTHORIZATION_ERROR: i64 = -32005;
}

/// Returns the forms of `code`. Every number has some: one without a row of its own has those of its range.
pub fn projection(code: i64) -> ErrorProjection {
    use self::registry_code::{
        AUTHENTICATION_ERROR, AUTHORIZATION_ERROR, TOOL_EXECUTION, TOOL_NOT_FOUND, VALIDATION_ERROR,
    };
    use ErrorClass::{AuthRequired, InvalidInput, Permanent, RateLimited, Transient};
    use ErrorType::{
        ApiLimitExceeded, AuthenticationError, PermissionError, ResourceNotFound, TimeoutError,
        ToolExecutionError, ValidationError,
    };

    let row = |word, class, envelope, registry| ErrorProjection { word, class, envelope, registry };
    match code {
        code::PARSE_ERROR | code::INVALID_REQUEST | code::INVALID_PARAMS | code::HEADER_MISMATCH => {
            row("INVALID_PARAMETERS", InvalidInput, ValidationError, code)
        }
        code::METHOD_NOT_FOUND => row("UNSUPPORTED_OPERATION", Permanent, ResourceNotFound, code),
        code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_PROTOCOL_VERSION => {
            row("UNSUPPORTED_OPERATION", Permanent, ValidationError, code::INVALID_REQUEST)
        }
        code::INTERNAL_ERROR => row("SERVER_ERROR", Transient, ToolExecutionError, code),
        code::PERMISSION_DENIED | code::ACCESS_DENIED | code::REFERENCE_FORBIDDEN => {
            row("PERMISSION_DENIED", Permanent, PermissionError, AUTHORIZATION_ERROR)
        }
        code::AUTH_REQUIRED => {
            row("AUTHENTICATION_REQUIRED", AuthRequired, AuthenticationError, AUTHENTICATION_ERROR)
        }
        code::AUTH_EXPIRED => row("TOKEN_EXPIRED", AuthRequired, AuthenticationError, AUTHENTICATION_ERROR),
        code::CONFIRMATION_REQUIRED | code::CONFIRMATION_INVALID | code::CONFIRMATION_DECLINED => {
            row(code::name(code).unwrap_or_default(), Permanent, PermissionError, AUTHORIZATION_ERROR)
        }
        code::SERVER_NOT_READY
        | code::SERVER_DRAINING
        | code::SERVER_RESTARTING
        | code::RESOURCE_EXHAUSTED => {
            row("SERVER_UNAVAILABLE", Transient, ToolExecutionError, code::INTERNAL_ERROR)
        }
        code::RATE_LIMITED => row("RATE_LIMIT_EXCEEDED", RateLimited, ApiLimitExceeded, code),
        code::QUOTA_EXCEEDED => row("QUOTA_EXHAUSTED", Permanent, ApiLimitExceeded, code::RATE_LIMITED),
        code::TIMEOUT => row("OPERATION_TIMEOUT", Transient, TimeoutError, TOOL_EXECUTION),
        code::VALIDATION_BLOCKED
        | code::CODE_SAFETY_VIOLATION
        | code::INVALID_TOOL_ARGS
        | code::SESSION_STATE_INVALID
        | code::SESSION_STATE_EXPIRED
        | code::CHECKPOINT_INVALID
        | code::CHECKPOINT_EXPIRED => row("INVALID_INPUT", InvalidInput, ValidationError, VALIDATION_ERROR),
        code::PAYLOAD_TOO_LARGE | code::STATE_TOO_LARGE => {
            row("PAYLOAD_TOO_LARGE", InvalidInput, ValidationError, VALIDATION_ERROR)
        }
        code::REFERENCE_NOT_FOUND | code::REFERENCE_EXPIRED => {
            row("RESOURCE_NOT_FOUND", Permanent, ResourceNotFound, TOOL_EXECUTION)
        }
        code::REFERENCE_CHECKSUM_MISMATCH => {
            row("SERVER_ERROR", Transient, ToolExecutionError, TOOL_EXECUTION)
        }
        code::TOOL_NOT_FOUND | code::RESOURCE_NOT_FOUND | code::MCP_RESOURCE_NOT_FOUND => {
            row("RESOURCE_NOT_FOUND", Permanent, ResourceNotFound, TOOL_NOT_FOUND)
        }
        code::TRANSACTION_NOT_FOUND => {
            row("RESOURCE_NOT_FOUND", Permanent, ResourceNotFound, code::INTERNAL_ERROR)
        }
        code::TRANSACTION_CONFLICT | code::IDEMPOTENCY_CONFLICT => {
            row(code::name(code).unwrap_or_default(), Permanent, ValidationError, VALIDATION_ERROR)
        }
        code::TRANSACTION_EXPIRED => row("CONFLICT", Permanent, TimeoutError, TOOL_EXECUTION),
        code::TOOL_DISABLED => row("UNSUPPORTED_OPERATION", Permanent, ToolExecutionError, TOOL_NOT_FOUND),
        code::SUBSCRIPTION_CONFLICT | code::TOOL_NAME_CONFLICT | code::SERVER_ALREADY_REGISTERED => {
            row("CONFLICT", Permanent, ValidationError, VALIDATION_ERROR)
        }
        code::UPSTREAM_ERROR => row("UPSTREAM_ERROR", Transient, ToolExecutionError, TOOL_EXECUTION),
        code::UPSTREAM_TIMEOUT => row("TIMEOUT", Transient, TimeoutError, TOOL_EXECUTION),
        code::UPSTREAM_UNAVAILABLE => {
            row("SERVER_UNAVAILABLE", Transient, ToolExecutionError, TOOL_EXECUTION)
        }
        _ => match code::category(code) {
            Some(Category::Security) => {
                row("PERMISSION_DENIED", Permanent, PermissionError, AUTHORIZATION_ERROR)
            }
            Some(Category::Validation) => {
                row("INVALID_INPUT", InvalidInput, ValidationError, VALIDATION_ERROR)
            }
            Some(Category::External) => row("UPSTREAM_ERROR", Permanent, ToolExecutionError, TOOL_EXECUTION),
            _ => row("SERVER_ERROR", Permanent, ToolExecutionError, code::INTERNAL_ERROR),
        },
    }
}
