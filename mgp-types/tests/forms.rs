//! The bodies of MCP, MGP and its extensions, as they are read and written: `forms.txt` holds one form a line.

use mgp_types::ext::scope::{CheckPermission, NegotiateScopes, PermissionChecked, ScopesNegotiated};
use mgp_types::ext::transaction::{BeginTransaction, TransactionCommitted, TransactionReport};
use mgp_types::ext::*;
use mgp_types::mcp::task::Task;
use mgp_types::mcp::{
    Annotations, CacheScope, CallToolParams, CallToolResult, CancelledParams, ContentBlock,
    CreateMessageResult, ElicitParams, LogLevel, LoggingMessageParams, Meta, Number, ProgressParams,
    ProgressToken, Role, StopReason, TextContent, Tool,
};
use mgp_types::mgp::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns the forms of the file: a type, what is read, and what is written of it.
fn forms() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let lines = include_str!("forms.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let (kind, form) = line.split_once(' ').expect("a type stands before its form");
        let (read, written) = form.split_once(" => ").unwrap_or((form, form));
        (kind, read, written)
    })
}

/// Checks the forms of a type.
fn check<T: Serialize + DeserializeOwned>(kind: &str) {
    for (_, json, expected) in forms().filter(|(of, ..)| *of == kind) {
        match (serde_json::from_str::<T>(json), expected.strip_prefix("refused")) {
            (Ok(body), None) => {
                assert_eq!(serde_json::to_string(&body).expect("it is JSON"), expected, "{kind} {json}");
            }
            (Err(fault), Some(named)) => {
                assert!(fault.to_string().contains(named.trim_start_matches(": ")), "{kind} {json}: {fault}");
            }
            (read, _) => panic!("{kind} {json} is {}", if read.is_ok() { "read" } else { "refused" }),
        }
    }
}

/// Writes a test for each row: the types whose forms it checks.
macro_rules! forms {
    ($($(#[$test:meta])* fn $name:ident($($body:ident),*);)*) => {
        $($(#[$test])* fn $name() { $(check::<$body>(stringify!($body));)* })*

        #[test]
        fn every_form_is_checked_and_every_type_has_one() {
            let checked: std::collections::BTreeSet<_> = [$($(stringify!($body)),*),*].into();
            assert_eq!(forms().map(|(kind, ..)| kind).collect::<std::collections::BTreeSet<_>>(), checked);
        }
    };
}

forms! {
    #[test]
    fn tools(Tool, CallToolParams, CallToolResult, Meta);

    #[test]
    fn content(Annotations, ContentBlock, TextContent, CreateMessageResult, ElicitParams);

    #[test]
    fn words_numbers_and_null(
        LogLevel, Role, StopReason, CacheScope, Number, ProgressToken, ProgressParams, CancelledParams,
        LoggingMessageParams, Task
    );

    // covers: MGP-2.3-07..09, MGP-4.3-01
    #[test]
    fn trust_and_risk(TrustLevel, RiskLevel, ToolSecurity);

    // covers: MGP-3.5-02..05
    #[test]
    fn permissions_asked_for(PermissionRequest);

    // covers: MGP-3.6-02..08
    #[test]
    fn permissions_granted(PermissionResponse, Grant);

    // covers: MGP-5.3-01, MGP-5.3-02, MGP-5.4-11..18
    #[test]
    fn access_granted(AccessGrant);

    // covers: MGP-5.4-02..09
    #[test]
    fn access_asked_about(AccessQuery, AccessState);

    // covers: MGP-5.4-21..23
    #[test]
    fn access_revoked(AccessRevoke);

    // covers: MGP-6.3-05..10
    #[test]
    fn events_of_the_audit(AuditEvent);

    // covers: MGP-7.3-03..08, MGP-7.4-02..05
    #[test]
    fn code_safety(CodeSafety, CodeRejection);

    // covers: MGP-11.2-09..15
    #[test]
    fn states_of_servers(ServerState);

    // covers: MGP-11.3-03..10
    #[test]
    fn pings(HealthPing, HealthPong);

    // covers: MGP-11.3-12..19
    #[test]
    fn reports_of_health(HealthReport);

    // covers: MGP-11.4-03..12
    #[test]
    fn shutdowns(Shutdown, ShutdownAnswer);

    // covers: MGP-11.4-14..18
    #[test]
    fn changes_of_state(LifecycleChange);

    // covers: MGP-12.4-03..05, MGP-12.5-02..04
    #[test]
    fn chunks_and_their_summary(StreamChunk, StreamSummary);

    // covers: MGP-12.6-03..05, MGP-12.7-03..05
    #[test]
    fn progress_and_the_end_of_streams(StreamProgress, StreamCancel, StreamCancelled, StreamPace, StreamGap);

    // covers: MGP-13.2-02..07
    #[test]
    fn subscriptions(EventSubscribe, EventSubscribed, EventUnsubscribe, EventUnsubscribed);

    // covers: MGP-13.3-02..05
    #[test]
    fn events(Event, EventReplay, EventReplayed);

    // covers: MGP-13.4-10, MGP-13.4-11
    #[test]
    fn answers_to_callbacks(CallbackRespond, CallbackAnswer);

    // covers: MGP-15.2-17..26
    #[test]
    fn lists_of_servers(ListServers, ListedServers);

    // covers: MGP-15.4-02..10
    #[test]
    fn registrations(RegisterServer, RegisteredServer);

    // covers: MGP-15.5-02..03
    #[test]
    fn deregistrations(DeregisterServer, DeregisteredServer);

    // covers: MGP-16.4-02..09
    #[test]
    fn entries_of_the_index(ToolIndexEntry);

    // covers: MGP-16.5-02..07
    #[test]
    fn searches(DiscoverTools);

    // covers: MGP-16.5-08..11, MGP-16.5-13, MGP-16.5-14
    #[test]
    fn found_tools(DiscoveredTools);

    // covers: MGP-16.6-02..08
    #[test]
    fn requests_for_tools(RequestTools);

    // covers: MGP-16.6-09..13
    #[test]
    fn answers_to_requests_for_tools(RequestedTools, ToolRequestStatus);

    // covers: MGP-16.7-06..09, MGP-16.7-11, MGP-16.7-12
    #[test]
    fn tools_of_a_session(ToolSession, EvictTools, EvictedTools);

    // covers: MGP-16.8-02..05
    #[test]
    fn budgets(ToolContextBudget);

    // covers: EXT-01-02, EXT-01-03, EXT-01-05, EXT-01-06, EXT-01-09
    #[test]
    fn manifests(ServiceManifest, ManifestAuth);

    // covers: EXT-04-05, EXT-04-07, EXT-04-08
    #[test]
    fn scopes(NegotiateScopes, CheckPermission, PermissionChecked, ScopesNegotiated);

    // covers: EXT-05-23, EXT-05-27
    #[test]
    fn transactions(Compensation, BeginTransaction, TransactionCommitted, TransactionReport);

    // covers: EXT-09-01, EXT-09-03, EXT-09-04
    #[test]
    fn data(DataReference, Checksum, ImportData, ImportedData);

    // covers: EXT-13-02, EXT-14-06, EXT-14-07, EXT-15-06
    #[test]
    fn sessions_and_recommendations(SessionState, SessionEvent, SubscriptionEnded, ServerRecommendation);
}
