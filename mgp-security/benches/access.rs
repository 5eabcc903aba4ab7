//! What a decision costs among a hundred thousand entries, and what changing one does. The column of allocations
//! belongs to the result: a decision and a call that is let through have none.

use std::task::{Context, Poll};

use divan::{AllocProfiler, Bencher};
use mgp_security::access::{AccessGate, AccessPolicy, AccessPolicySettings};
use mgp_store::Database;
use mgp_types::mgp::{AccessGrant, AccessPermission, AgentId, EffectiveSecurity, ResolvedTool, RiskLevel};
use mgp_types::{Error, Gate, Object, Principal, Request, Response};
use tower_service::Service;

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// A decision by an entry for the tool; each time another one, so that nothing is in a cache by luck.
#[divan::bench(sample_count = 100, sample_size = 100)]
fn decide_by_tool(bencher: Bencher<'_, '_>) {
    decide(bencher, |agent| (format!("agent.{agent}"), "server.3".to_owned(), "tool.3".to_owned()));
}

/// A decision by an entry for the server, after there was none for the tool.
#[divan::bench(sample_count = 100, sample_size = 100)]
fn decide_by_server(bencher: Bencher<'_, '_>) {
    decide(bencher, |agent| (format!("agent.{agent}"), "server.0".to_owned(), "unheard of".to_owned()));
}

/// A decision by the default, after there was no entry.
#[divan::bench(sample_count = 100, sample_size = 100)]
fn decide_by_default(bencher: Bencher<'_, '_>) {
    decide(bencher, |agent| (format!("stranger.{agent}"), "server.3".to_owned(), "tool.3".to_owned()));
}

/// A call that is let through by the whole layer, the service behind it included.
#[divan::bench]
fn call_through_the_layer(bencher: Bencher<'_, '_>) {
    let mut service = AccessGate::new(warm()).layer(Silent);
    let mut request =
        Request::call("tools/call", Object::parse(r#"{"name":"tool.3"}"#).expect("is an object"));
    request.context.principal = Some(Principal::new("agent.77"));
    let security = EffectiveSecurity::new(RiskLevel::Safe);
    let tool = ResolvedTool::new("server.3".into(), "tool.3".into(), Object::new(), security);
    request.context.tool = Some(tool);
    bencher.with_inputs(|| request.clone()).bench_local_values(|request| service.call(request));
}

/// A grant among as many entries, kept in memory: what it costs beyond storing and recording it.
#[divan::bench(sample_count = 50, sample_size = 4)]
fn grant(bencher: Bencher<'_, '_>) {
    let policy = policy();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("there is memory");
    let admin = Principal::operator("admin");
    let mut next = 0;
    bencher
        .with_inputs(|| {
            next += 1;
            AccessGrant::new(AgentId::new(format!("agent.{next}")), "new".into(), AccessPermission::Allow)
        })
        .bench_local_values(|grant| runtime.block_on(policy.grant(&admin, None, grant)));
}

/// The names of a request were read from it just before, so they are at hand; the entries are not.
fn decide(bencher: Bencher<'_, '_>, name: impl Fn(usize) -> (String, String, String)) {
    let policy = warm();
    let mut next = 0;
    bencher
        .with_inputs(|| {
            next = (next + 4_051) % AGENTS;
            name(next)
        })
        .bench_local_refs(|(agent, server, tool)| policy.decide(agent, server, Some(tool)));
}

/// The policy, asked once: the first question of a thread sets up what later ones use.
fn warm() -> AccessPolicy {
    let policy = policy();
    policy.decide("a", "b", None);
    policy
}

/// Ten entries for each of ten thousand agents.
fn policy() -> AccessPolicy {
    let database = Database::in_memory().expect("there is memory");
    let open = || {
        AccessPolicy::open(AccessPolicySettings {
            database: Some(database.clone()),
            ..AccessPolicySettings::default()
        })
        .expect("memory can be read")
    };
    drop(open());
    let entries = format!(
        "WITH RECURSIVE agents (agent) AS (VALUES (0) UNION ALL SELECT agent + 1 FROM agents WHERE agent < {AGENTS} - 1),
             places (place) AS (VALUES (0) UNION ALL SELECT place + 1 FROM places WHERE place < 9)
         INSERT INTO access_entries (agent, server, tool, permission, granted_by, granted_at)
             SELECT 'agent.' || agent, 'server.' || place, iif(place = 0, '', 'tool.' || place), 'allow', 'admin', 0
             FROM agents, places"
    );
    database.connection().execute_batch(&entries).expect("the entries differ");
    open()
}

/// A service that answers at once.
#[derive(Clone)]
struct Silent;

impl Service<Request> for Silent {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        std::future::ready(Ok(Response::empty()))
    }
}

const AGENTS: usize = 10_000;
