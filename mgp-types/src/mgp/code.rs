//! The numbers of errors: those of MGP (§14.3), and those of JSON-RPC and MCP beside them.

use super::Category;

macro_rules! mgp_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: i64 = $code;)*

        /// Returns the name of an MGP code; `None` for other numbers, those of JSON-RPC and MCP included.
        pub const fn name(code: i64) -> Option<&'static str> {
            match code {
                $($name => Some(stringify!($name)),)*
                _ => None,
            }
        }

        #[cfg(test)]
        const NAMED: &[(i64, &str)] = &[$(($code, stringify!($name)),)*];
    };
}

mgp_codes! {
    /// The caller lacks a required permission.
    PERMISSION_DENIED = 1000;
    /// The agent has no access to this tool.
    ACCESS_DENIED = 1001;
    /// The caller must authenticate.
    AUTH_REQUIRED = 1002;
    /// The caller's credentials have expired.
    AUTH_EXPIRED = 1003;
    /// A validator on the kernel's side blocked the request.
    VALIDATION_BLOCKED = 1010;
    /// The code safety framework refused the code.
    CODE_SAFETY_VIOLATION = 1011;
    /// A person has to confirm the call first; it was not made.
    CONFIRMATION_REQUIRED = 1020;
    /// The confirmation is over, was used, or is for another call.
    CONFIRMATION_INVALID = 1021;
    /// A person declined to confirm the call.
    CONFIRMATION_DECLINED = 1022;
    /// The server is not in the state `connected`.
    SERVER_NOT_READY = 2000;
    /// The server is shutting down and takes no new requests.
    SERVER_DRAINING = 2001;
    /// The server is restarting.
    SERVER_RESTARTING = 2002;
    /// The transaction does not exist, or is over.
    TRANSACTION_NOT_FOUND = 2020;
    /// The transaction exists already, or does something else now.
    TRANSACTION_CONFLICT = 2021;
    /// The transaction was rolled back because nothing happened for too long.
    TRANSACTION_EXPIRED = 2022;
    /// The session state that the call brings is none of this server's for this caller.
    SESSION_STATE_INVALID = 2031;
    /// The time of the session state is over.
    SESSION_STATE_EXPIRED = 2032;
    /// The caller sent too many requests.
    RATE_LIMITED = 3000;
    /// The server is at a limit: memory, connections and the like.
    RESOURCE_EXHAUSTED = 3001;
    /// A quota is used up: tokens, API calls and the like.
    QUOTA_EXCEEDED = 3002;
    /// The operation took too long.
    TIMEOUT = 3003;
    /// Data are larger than the receiver takes.
    PAYLOAD_TOO_LARGE = 3020;
    /// The data reference does not exist.
    REFERENCE_NOT_FOUND = 3021;
    /// The time of the data reference is over.
    REFERENCE_EXPIRED = 3022;
    /// The data reference is not for this caller, or its address may not be fetched.
    REFERENCE_FORBIDDEN = 3023;
    /// The data are not those that the reference promised.
    REFERENCE_CHECKSUM_MISMATCH = 3024;
    /// The session state that the call brings is longer than the server takes.
    STATE_TOO_LARGE = 3025;
    /// The client already has a subscription with this id.
    SUBSCRIPTION_CONFLICT = 3026;
    /// The tool's arguments are not valid.
    INVALID_TOOL_ARGS = 4000;
    /// The tool does not exist.
    TOOL_NOT_FOUND = 4001;
    /// The tool exists and is switched off.
    TOOL_DISABLED = 4002;
    /// The checkpoint is none of this server's for this call.
    CHECKPOINT_INVALID = 4021;
    /// The time of the checkpoint is over.
    CHECKPOINT_EXPIRED = 4022;
    /// A tool has a name that is reserved or taken; from a later draft.
    TOOL_NAME_CONFLICT = 4003;
    /// The resource does not exist; from a later draft.
    RESOURCE_NOT_FOUND = 4004;
    /// The idempotency key stands for another call, or for one whose outcome nobody knows.
    IDEMPOTENCY_CONFLICT = 4020;
    /// A server with this id is registered already; from a later draft.
    SERVER_ALREADY_REGISTERED = 4101;
    /// An external API answered with an error.
    UPSTREAM_ERROR = 5000;
    /// An external API took too long.
    UPSTREAM_TIMEOUT = 5001;
    /// An external API cannot be reached.
    UPSTREAM_UNAVAILABLE = 5002;
}

/// JSON-RPC: the bytes are not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// JSON-RPC: the JSON is not a request.
pub const INVALID_REQUEST: i64 = -32600;
/// JSON-RPC: the method does not exist.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: the parameters do not fit the method. MCP answers unknown tools with this code.
pub const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC: the receiver broke.
pub const INTERNAL_ERROR: i64 = -32603;
/// MCP, stateless revisions: an HTTP header is missing or contradicts the body.
pub const HEADER_MISMATCH: i64 = -32020;
/// MCP, stateless revisions: the request needs a capability that the client did not declare.
pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// MCP, stateless revisions: the protocol version is not served.
pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
/// MCP, session revisions: the resource does not exist. MGP's own number is [`RESOURCE_NOT_FOUND`].
pub const MCP_RESOURCE_NOT_FOUND: i64 = -32002;
/// MCP, session revisions: the user must visit an address first.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Returns the category of a code, by the range it lies in (§14.2).
///
/// The ranges leave room for numbers without a name here. Later drafts add 4100 to 4199 for registration; there the
/// request itself is at fault, so the category is validation.
pub const fn category(code: i64) -> Option<Category> {
    match code {
        1000..=1099 => Some(Category::Security),
        2000..=2099 => Some(Category::Lifecycle),
        3000..=3099 => Some(Category::Resource),
        4000..=4199 => Some(Category::Validation),
        5000..=5099 => Some(Category::External),
        _ => None,
    }
}

/// Returns the code that a peer without MGP gets in place of `code`.
///
/// A fault of the request becomes [`INVALID_PARAMS`], a refusal for security [`INVALID_REQUEST`], any other number in
/// MGP's ranges [`INTERNAL_ERROR`]. Numbers outside of those ranges stay, with one exception: stateless revisions of
/// MCP forbid two numbers of the session revisions, so there a missing resource is [`INVALID_PARAMS`] and a required
/// address [`INTERNAL_ERROR`].
pub fn to_mcp(code: i64, in_revision_stateless: bool) -> i64 {
    match code {
        INVALID_TOOL_ARGS..=RESOURCE_NOT_FOUND
        | SESSION_STATE_INVALID..=SESSION_STATE_EXPIRED
        | PAYLOAD_TOO_LARGE..=REFERENCE_EXPIRED
        | STATE_TOO_LARGE..=SUBSCRIPTION_CONFLICT
        | TRANSACTION_NOT_FOUND..=TRANSACTION_EXPIRED
        | IDEMPOTENCY_CONFLICT..=CHECKPOINT_EXPIRED => INVALID_PARAMS,
        MCP_RESOURCE_NOT_FOUND if in_revision_stateless => INVALID_PARAMS,
        URL_ELICITATION_REQUIRED if in_revision_stateless => INTERNAL_ERROR,
        _ => match category(code) {
            Some(Category::Security) => INVALID_REQUEST,
            Some(_) => INTERNAL_ERROR,
            None => code,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_specification_has_its_name() {
        for (code, expected) in [
            (1000, "PERMISSION_DENIED"),
            (1001, "ACCESS_DENIED"),
            (1002, "AUTH_REQUIRED"),
            (1003, "AUTH_EXPIRED"),
            (1010, "VALIDATION_BLOCKED"),
            (1011, "CODE_SAFETY_VIOLATION"),
            (2000, "SERVER_NOT_READY"),
            (2001, "SERVER_DRAINING"),
            (2002, "SERVER_RESTARTING"),
            (3000, "RATE_LIMITED"),
            (3001, "RESOURCE_EXHAUSTED"),
            (3002, "QUOTA_EXCEEDED"),
            (3003, "TIMEOUT"),
            (4000, "INVALID_TOOL_ARGS"),
            (4001, "TOOL_NOT_FOUND"),
            (4002, "TOOL_DISABLED"),
            (5000, "UPSTREAM_ERROR"),
            (5001, "UPSTREAM_TIMEOUT"),
            (5002, "UPSTREAM_UNAVAILABLE"),
        ] {
            assert_eq!(name(code), Some(expected));
        }
    }

    #[test]
    fn codes_of_later_drafts_have_names_and_others_have_none() {
        assert_eq!(name(4003), Some("TOOL_NAME_CONFLICT"));
        assert_eq!(name(4004), Some("RESOURCE_NOT_FOUND"));
        assert_eq!(name(4101), Some("SERVER_ALREADY_REGISTERED"));
        for (code, expected) in [
            (2020, "TRANSACTION_NOT_FOUND"),
            (2021, "TRANSACTION_CONFLICT"),
            (2022, "TRANSACTION_EXPIRED"),
            (3026, "SUBSCRIPTION_CONFLICT"),
            (4020, "IDEMPOTENCY_CONFLICT"),
        ] {
            assert_eq!(name(code), Some(expected));
        }
        assert_eq!(NAMED.len(), 40);
        for code in [0, 999, 1004, 4100, 5003, -32600, i64::MIN, i64::MAX] {
            assert_eq!(name(code), None, "{code}");
        }
    }

    // covers: MGP-14.2-02..06
    #[test]
    fn the_range_gives_the_category() {
        for (first, last, expected) in [
            (1000, 1099, Category::Security),
            (2000, 2099, Category::Lifecycle),
            (3000, 3099, Category::Resource),
            (4000, 4199, Category::Validation),
            (5000, 5099, Category::External),
        ] {
            assert_eq!(category(first), Some(expected.clone()));
            assert_eq!(category(last), Some(expected));
            assert_eq!(category(first - 1), None);
            assert_eq!(category(last + 1), None);
        }
    }

    // covers: MGP-14.2-01
    #[test]
    fn the_numbers_of_json_rpc_are_apart_from_those_of_mgp() {
        let standard = [PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR];
        assert_eq!(standard, [-32700, -32600, -32601, -32602, -32603]);
        for code in -32768..=-32000 {
            assert_eq!(category(code), None);
            assert_eq!(name(code), None);
        }
    }

    #[test]
    fn a_plain_peer_gets_only_numbers_of_json_rpc() {
        for &(code, name) in NAMED {
            let expected = match code {
                2020..=2022 | 2031 | 2032 | 3020..=3022 | 3025 | 3026 | 4000..=4004 | 4020..=4022 => {
                    INVALID_PARAMS
                }
                1000..=1099 => INVALID_REQUEST,
                _ => INTERNAL_ERROR,
            };
            for stateless in [false, true] {
                assert_eq!(to_mcp(code, stateless), expected, "{name}");
            }
        }
        assert_eq!(to_mcp(1050, true), INVALID_REQUEST);
        assert_eq!(to_mcp(4050, true), INTERNAL_ERROR);
    }

    #[test]
    fn numbers_that_are_not_of_mgp_stay_except_where_the_revision_forbids_them() {
        for code in [PARSE_ERROR, METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION, -1, 7, 9000] {
            assert_eq!(to_mcp(code, false), code);
            assert_eq!(to_mcp(code, true), code);
        }
        assert_eq!(to_mcp(-32002, false), -32002);
        assert_eq!(to_mcp(-32002, true), INVALID_PARAMS);
        assert_eq!(to_mcp(-32042, false), -32042);
        assert_eq!(to_mcp(-32042, true), INTERNAL_ERROR);
    }
}
