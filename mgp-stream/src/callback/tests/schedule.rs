//! Tests by random schedules: connections that lose, repeat, delay, reorder and break.

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mcp::Elicited;
use mgp_types::mgp::{CallbackRequest, ServerId};
use mgp_types::{
    BoxFuture, Context, Error, Outbox, OutboxPort, Principal, RawJson, Request, Response, Revision, Session,
    StreamId, code,
};
use parking_lot::Mutex;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep};
use tower_layer::Layer;
use tower_service::Service;

use crate::callback::bench::session;
use crate::callback::{
    Callback, CallbackInbound, CallbackInboundLayer, CallbackLayer, CallbackResponder, CallbackService,
    Callbacks,
};
use crate::doubles::{self, TestServer};
use crate::seeded_random::{self, SeededRandom};

fn delay(dice: &SeededRandom) -> Duration {
    let most = dice.one_of(&[1, 50, 3000, 20_000]);
    Duration::from_millis(dice.below(most))
}

/// The treatment of messages in one direction, until the connection breaks.
#[derive(Clone)]
struct Network {
    dice: SeededRandom,
    under_way: Arc<Mutex<JoinSet<()>>>,
    broken: Arc<Mutex<bool>>,
}

impl Network {
    fn new(dice: &SeededRandom) -> Self {
        Self { dice: dice.clone(), under_way: Arc::default(), broken: Arc::default() }
    }

    fn is_broken(&self) -> bool {
        *self.broken.lock()
    }

    fn breaks(&self) {
        *self.broken.lock() = true;
        self.under_way.lock().abort_all();
    }

    fn carry(&self, work: impl Fn() -> BoxFuture<'static, ()>) -> Result<(), Error> {
        if self.is_broken() {
            return Err(Error::disconnected("the connection broke"));
        }
        for _ in 0..self.dice.one_of(&[0, 1, 1, 1, 2, 3]) {
            let (delay, work) = (delay(&self.dice), work());
            self.under_way.lock().spawn(async move {
                sleep(delay).await;
                work.await;
            });
        }
        Ok(())
    }
}

/// The way of questions, from the server to the client.
struct Down {
    network: Network,
    inbound: CallbackInbound<TestServer>,
    session: Arc<Session>,
}

impl OutboxPort for Down {
    fn notify(&self, stream: StreamId, mut notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        notification.context.session = Some(self.session.clone());
        notification.context.outbox = Outbox::on(stream);
        let arrive = || -> BoxFuture<'static, ()> {
            let (mut inbound, notification) = (self.inbound.clone(), notification.clone());
            Box::pin(async move {
                inbound.call(notification).await.unwrap();
            })
        };
        let sent = self.network.carry(arrive);
        Box::pin(async move { sent })
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(async move { Err(Error::method_not_found(&request.method)) })
    }
}

/// The way of answers, from the client to the server; acknowledgements may be lost too.
struct Up {
    network: Network,
    server: CallbackService<TestServer>,
    /// The context of the client as the server knows it, and of another client.
    client: Context,
    stranger: Context,
}

impl OutboxPort for Up {
    fn notify(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        let acknowledged = Arc::new(Mutex::new(None));
        let sent = self.network.carry(|| {
            let (mut server, acknowledged) = (self.server.clone(), acknowledged.clone());
            let (mut honest, mut stolen) = (request.clone(), request.clone());
            *honest.context = self.client.clone();
            *stolen.context = self.stranger.clone();
            Box::pin(async move {
                // Another client that learns an id and an answer can do nothing with them.
                let refused = server.call(stolen).await.unwrap_err();
                assert_eq!(refused.code(), code::INVALID_PARAMS);
                *acknowledged.lock() = Some(server.call(honest).await);
            })
        });
        Box::pin(async move {
            sent?;
            for _ in 0..25 {
                sleep(Duration::from_secs(1)).await;
                if let Some(answer) = acknowledged.lock().take() {
                    return answer;
                }
            }
            pending().await
        })
    }
}

/// One session of one client, and the server that asks in it.
struct Pair {
    context: Context,
    network: Network,
    _responder: CallbackResponder,
}

type Handled = Arc<Mutex<HashMap<(usize, Box<str>), u32>>>;

fn pair(
    number: usize,
    dice: &SeededRandom,
    callbacks: &Callbacks,
    stranger: &Context,
    handled: &Handled,
) -> Pair {
    let network = Network::new(dice);
    let (handled, pace) = (handled.clone(), dice.clone());
    let responder = CallbackResponder::new(move |request: CallbackRequest, _: Context| {
        *handled.lock().entry((number, request.callback_id)).or_default() += 1;
        let delay = delay(&pace);
        async move {
            sleep(delay).await;
            RawJson::from_value(&format!("{number}: {}", request.message)).ok()
        }
    });
    let mut context = Context::default();
    context.principal = Some(Principal::new(format!("agent {}", number / 2)));
    context.session = Some(Arc::new(session(Revision::V2025_11_25, &["callbacks"], "{}")));
    let up = Up {
        network: network.clone(),
        server: CallbackLayer::new(callbacks.clone()).layer(doubles::knowing_nothing()),
        client: context.clone(),
        stranger: stranger.clone(),
    };
    let mut at_client = session(Revision::V2025_11_25, &["callbacks"], "{}");
    at_client.outbox = Outbox::new(Arc::new(up), StreamId::STANDALONE);
    let inbound =
        CallbackInboundLayer::new(responder.of_server(ServerId::from("s"))).layer(doubles::knowing_nothing());
    let down = Down { network: network.clone(), inbound, session: Arc::new(at_client) };
    context.outbox = Outbox::new(Arc::new(down), StreamId::fresh());
    Pair { context, network, _responder: responder }
}

/// The outcomes of the questions of one schedule.
#[derive(Debug, Default)]
struct Tally {
    answered: u32,
    late: u32,
    lost: u32,
    dropped: u32,
}

async fn run(dice: SeededRandom) -> Tally {
    let (callbacks, handled) = (Callbacks::new(), Handled::default());
    let mut stranger = Context::default();
    stranger.principal = Some(Principal::new("stranger"));
    stranger.session = Some(Arc::new(session(Revision::V2025_11_25, &["callbacks"], "{}")));
    let pairs: Vec<_> = (0..3).map(|number| pair(number, &dice, &callbacks, &stranger, &handled)).collect();
    let mut asking = JoinSet::new();
    let mut calls = Vec::new();
    for question in 0..12 {
        let number = question % pairs.len();
        let (callbacks, mut context) = (callbacks.clone(), pairs[number].context.clone());
        let (port, _) = context.outbox.clone().into_parts().unwrap();
        context.outbox = Outbox::new(port, StreamId::fresh());
        let (start, limit) = (delay(&dice), Duration::from_millis(1000 + dice.below(40_000)));
        calls.push(asking.spawn(async move {
            sleep(start).await;
            let asked_at = Instant::now();
            let input = Callback::input(format!("question {question}")).timeout(limit);
            let outcome = callbacks.ask(&context, "key", input).await;
            assert!(asked_at.elapsed() <= limit + Duration::from_millis(2), "an outcome comes in time");
            (number, question, outcome)
        }));
    }
    // Some calls are cancelled, and in every second schedule a connection breaks.
    let mut tally = Tally::default();
    if dice.below(2) == 0 {
        let network = pairs[usize::try_from(dice.below(3)).unwrap()].network.clone();
        let at = delay(&dice);
        tokio::spawn(async move {
            sleep(at).await;
            network.breaks();
        });
    }
    for call in calls.iter().filter(|_| dice.below(6) == 0) {
        let (call, at) = (call.clone(), delay(&dice));
        tokio::spawn(async move {
            sleep(at).await;
            call.abort();
        });
    }
    while let Some(ended) = asking.join_next().await {
        match ended {
            Ok((number, question, Ok(Elicited::Accepted(answer)))) => {
                assert_eq!(answer.to_text().unwrap(), format!("{number}: question {question}"));
                tally.answered += 1;
            }
            Ok((_, _, Err(error))) if error.code() == code::TIMEOUT => tally.late += 1,
            Ok((number, _, Err(error))) if error.code() == code::UPSTREAM_UNAVAILABLE => {
                assert!(pairs[number].network.is_broken());
                tally.lost += 1;
            }
            Ok((_, _, outcome)) => panic!("{outcome:?}"),
            Err(error) => {
                assert!(error.is_cancelled(), "{error}");
                tally.dropped += 1;
            }
        }
    }
    assert_eq!(callbacks.len().0, 0, "nothing is left over");
    assert!(handled.lock().values().all(|times| *times == 1), "nobody is bothered twice");
    // Messages still under way find no receiver, and break nothing.
    sleep(Duration::from_mins(2)).await;
    for pair in &pairs {
        while let Some(carried) = pair.network.under_way.lock().try_join_next() {
            let is_well = carried.as_ref().err().is_none_or(JoinError::is_cancelled);
            assert!(is_well, "{carried:?}");
        }
    }
    tally
}

// covers: MGP-13.4-01, MGP-13.4-02, MGP-13.4-08, MGP-13.4-09
#[test]
fn every_question_has_one_outcome_in_time_and_no_answer_goes_astray_in_1000_schedules() {
    let mut all = Tally::default();
    let is_all = seeded_random::run(1..1001, run, |tally| {
        assert_eq!(tally.answered + tally.late + tally.lost + tally.dropped, 12);
        all.answered += tally.answered;
        all.late += tally.late;
        all.lost += tally.lost;
        all.dropped += tally.dropped;
    });
    let Tally { answered, late, lost, dropped } = all;
    let is_seen = answered > 3000 && late > 500 && lost > 100 && dropped > 100;
    assert!(is_seen || !is_all, "the schedules reach every outcome: {answered} {late} {lost} {dropped}");
}
