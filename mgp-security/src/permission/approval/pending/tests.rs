mod kernels;

use mgp_types::mgp::{Permission, ServerId};
use mgp_types::{Context, WaitListener};

use super::super::{ApprovalReply, Approver, WaitingQuestion};
use super::*;
use crate::permission::testing::{self, ManualClock, book, moment};
use crate::permission::{GrantTerms, ShownArguments};

fn question(permission: Permission) -> ApprovalQuestion {
    let risk = permission.risk();
    ApprovalQuestion::new(
        "s".into(),
        ApprovalSubject::Permission { permission, risk, tool: None, flow: None, arguments: None },
        Context::default(),
    )
}

const HOUR: Duration = Duration::from_hours(1);

fn of_book(book: &GrantBook, denied_for: Duration, clock: Clock) -> PendingApprovals {
    PendingApprovals::open(crate::doubles::database(), book.clone(), denied_for, clock).unwrap()
}

/// A question for whose answer nobody waits.
fn at_once(question: ApprovalQuestion) -> ApprovalQuestion {
    ApprovalQuestion { patience: Duration::ZERO, ..question }
}

fn yes(operator: &Principal) -> ApprovalAnswer {
    ApprovalAnswer {
        terms: GrantTerms::default(),
        ..ApprovalAnswer::new(operator.clone(), Decision::Approved)
    }
}

#[tokio::test]
async fn agents_and_impostors_decide_nothing() {
    let pending = testing::pending(Clock::system()).await;
    let asking = tokio::spawn({
        let pending = pending.clone();
        async move { pending.ask(question(Permission::Camera)).await }
    });
    pending.asked().wait_for(|asked| *asked == 1).await.unwrap();
    let id = pending.list()[0].id.clone();
    let agent = Principal::new("ada");
    let (ada, bob) = (Principal::operator("ada"), Principal::operator("bob"));
    for (who, answer) in [(&agent, yes(&agent)), (&agent, yes(&ada)), (&bob, yes(&ada))] {
        assert_eq!(pending.decide(who, &id, &answer).await.unwrap_err().code(), code::PERMISSION_DENIED);
    }
    assert!(!asking.is_finished());
    asking.abort();
}

/// What was answered; nothing if the question waits.
fn decision(reply: ApprovalReply) -> Option<Decision> {
    match reply {
        ApprovalReply::Answer(answer) => Some(answer.decision),
        ApprovalReply::Waits(_) => None,
    }
}

/// The question of a call of this agent, which waits for nobody.
fn call(agent: &str, binding: &str) -> ApprovalQuestion {
    let subject = ApprovalSubject::Call {
        tool: "t".into(),
        risk: mgp_types::mgp::RiskLevel::Dangerous,
        effect: None,
        command: None,
        arguments: ShownArguments::of(None).unwrap(),
        flow: None,
        says: None,
        is_for_a_day: false,
        can_be_edited: true,
        binding: binding.to_owned(),
        of_tool: String::new(),
    };
    let mut context = Context::default();
    context.principal = Some(Principal::new(agent.to_owned()));
    at_once(ApprovalQuestion::new("s".into(), subject, context))
}

fn id(reply: ApprovalReply) -> ApprovalId {
    waiting(reply).id
}

fn waiting(reply: ApprovalReply) -> WaitingQuestion {
    match reply {
        ApprovalReply::Waits(question) => question,
        ApprovalReply::Answer(answer) => panic!("{answer:?}"),
    }
}

#[tokio::test]
async fn a_yes_that_nobody_waited_for_lets_one_call_through_that_is_made_again() {
    let pending = testing::pending(Clock::system()).await;
    let ada = Principal::operator("ada");
    let first = id(pending.ask(call("a", "1")).await.unwrap());
    assert_eq!(
        id(pending.ask(call("a", "1")).await.unwrap()),
        first,
        "what is repeated is the same question"
    );
    id(pending.ask(call("a", "2")).await.unwrap());
    assert_eq!(pending.list().len(), 2);
    pending.decide(&ada, &first, &yes(&ada)).await.unwrap();
    assert_eq!(pending.list().len(), 1);
    assert_eq!(decision(pending.ask(call("a", "2")).await.unwrap()), None);
    assert_eq!(decision(pending.ask(call("a", "1")).await.unwrap()), Some(Decision::Approved));
    assert_ne!(id(pending.ask(call("a", "1")).await.unwrap()), first);
}

#[tokio::test]
async fn the_first_answer_counts_and_whoever_comes_next_hears_it_also_once_the_call_was_made() {
    let hands = ManualClock::at(1000);
    let pending = testing::pending(hands.clock()).await;
    let (ada, bob) = (Principal::operator("ada"), Principal::operator("bob"));
    let asked = id(pending.ask(call("a", "1")).await.unwrap());
    pending.decide(&ada, &asked, &yes(&ada)).await.unwrap();
    let no = ApprovalAnswer::new(bob.clone(), Decision::Denied);
    for is_made in [false, true] {
        if is_made {
            assert_eq!(decision(pending.ask(call("a", "1")).await.unwrap()), Some(Decision::Approved));
        }
        let refused = pending.decide(&bob, &asked, &no).await.unwrap_err();
        assert!(refused.message() == "nothing was changed: ada has approved this already", "{refused}");
    }
    assert!(pending.list().is_empty() && pending.answered().is_empty());
    assert!(!pending.forget(&bob, &asked).await.unwrap(), "there was nothing left to forget");
    let late = pending.decide(&bob, &asked, &no).await.unwrap_err();
    assert_eq!(late.code(), code::RESOURCE_NOT_FOUND);
}

#[tokio::test]
async fn an_edit_is_recorded_with_both_versions_and_outlives_the_process() {
    let audit = Arc::<testing::RecordingAuditPort>::default();
    let (book, database) = (book(&audit).await, crate::doubles::database());
    let open = || PendingApprovals::open(database.clone(), book.clone(), HOUR, Clock::system()).unwrap();
    let (pending, ada) = (open(), Principal::operator("ada"));
    let arguments = Some(RawJson::parse(r#"{"n":1}"#).unwrap());
    let edit = ApprovalAnswer { arguments: arguments.clone(), ..yes(&ada) };
    let permission = id(pending.ask(at_once(question(Permission::Camera))).await.unwrap());
    let refused = pending.decide(&ada, &permission, &edit).await.unwrap_err();
    assert_eq!(refused.code(), code::INVALID_PARAMS);
    let asked = id(pending.ask(call("a", "1")).await.unwrap());
    pending.decide(&ada, &asked, &edit).await.unwrap();
    let event = audit.only();
    assert_eq!((event.event_type.as_str(), &*event.actor.id), ("dev.cloto.mgp.call_edited", "ada"));
    for (detail, json) in [("asked_arguments_digest", "{}"), ("edited_arguments_digest", r#"{"n":1}"#)] {
        let digest = digest(&RawJson::parse(json).unwrap()).unwrap().to_string();
        assert_eq!(event.details.text(detail).as_deref(), Some(&*digest));
    }
    drop(pending);
    let ApprovalReply::Answer(answer) = open().ask(call("a", "1")).await.unwrap() else { panic!("it waits") };
    assert_eq!(answer.arguments, arguments);
}

#[tokio::test]
async fn a_no_to_a_call_stays_until_its_end_or_until_it_is_forgotten() {
    let hands = ManualClock::at(1000);
    let pending = of_book(&book(&Arc::default()).await, Duration::from_secs(2), hands.clock());
    let ada = Principal::operator("ada");
    let no = ApprovalAnswer::new(ada.clone(), Decision::Denied);
    let first = id(pending.ask(call("a", "1")).await.unwrap());
    pending.decide(&ada, &first, &no).await.unwrap();
    for _ in 0..2 {
        assert_eq!(decision(pending.ask(call("a", "1")).await.unwrap()), Some(Decision::Denied));
    }
    let found = pending.find(&first).unwrap();
    assert_eq!((found.answer.unwrap().decision, found.ends_at), (Decision::Denied, moment(3000)));
    hands.set(3000);
    let second = id(pending.ask(call("a", "1")).await.unwrap());
    pending.decide(&ada, &second, &no).await.unwrap();
    assert!(pending.forget(&Principal::new("a"), &second).await.is_err());
    assert!(pending.forget(&ada, &second).await.unwrap() && !pending.forget(&ada, &second).await.unwrap());
    assert_eq!(decision(pending.ask(call("a", "1")).await.unwrap()), None);
}

#[tokio::test]
async fn a_question_that_nobody_answers_comes_to_its_end() {
    let hands = ManualClock::at(1000);
    let pending = testing::pending(hands.clock()).await;
    let ada = Principal::operator("ada");
    let first = id(pending.ask(call("a", "1")).await.unwrap());
    let day = i64::try_from(OPEN_FOR.as_millis()).unwrap();
    hands.set(day + 999);
    assert_eq!(pending.list().len(), 1);
    hands.set(day + 1000);
    assert!(pending.list().is_empty());
    let late = pending.decide(&ada, &first, &yes(&ada)).await.unwrap_err();
    assert_eq!(late.code(), code::RESOURCE_NOT_FOUND);
}

#[tokio::test]
async fn a_question_that_the_store_did_not_take_is_decided_once_another_one_has_ended() {
    let (hands, database, ada) = (ManualClock::at(0), crate::doubles::database(), Principal::operator("ada"));
    let book = book(&Arc::default()).await;
    let pending = PendingApprovals::open(database.clone(), book, HOUR, hands.clock()).unwrap();
    let _ = id(pending.ask(call("a", "1")).await.unwrap());
    crate::doubles::fill(&database, "questions", "TRUE");
    hands.set(1000);
    let second = id(pending.ask(call("b", "2")).await.unwrap());
    crate::doubles::make_room(&database);
    // The store counts the first one still, and the queue does not.
    hands.set(i64::try_from(OPEN_FOR.as_millis()).unwrap() + 500);
    pending.decide(&ada, &second, &yes(&ada)).await.unwrap();
    assert_eq!((pending.list().len(), pending.answered().len()), (0, 1));
}

#[tokio::test]
async fn what_nobody_waits_for_makes_room_for_what_the_same_agent_asks_next() {
    let pending = testing::pending(Clock::system()).await;
    let first = id(pending.ask(call("a", "first")).await.unwrap());
    for number in 0..MAX_OF_ASKER {
        id(pending.ask(call("a", &number.to_string())).await.unwrap());
    }
    assert_eq!(pending.list().len(), MAX_OF_ASKER);
    assert!(pending.find(&first).is_none());
}

#[tokio::test]
async fn names_that_a_client_of_the_user_invents_share_their_questions_and_others_have_theirs() {
    let pending = testing::pending(Clock::system()).await;
    for number in 0..100 {
        id(pending.ask(call(&format!("local/agent-{number}"), &number.to_string())).await.unwrap());
    }
    assert_eq!(pending.list().len(), MAX_OF_FAMILY);
    for number in 0..MAX_OF_ASKER {
        id(pending.ask(call("ada", &number.to_string())).await.unwrap());
    }
    assert_eq!(pending.list().len(), MAX_OF_FAMILY + MAX_OF_ASKER);
}

#[tokio::test]
async fn what_nobody_waits_for_outlives_the_process_with_its_answer_and_is_taken_once() {
    let database = crate::doubles::database();
    let book = book(&Arc::default()).await;
    let open = || PendingApprovals::open(database.clone(), book.clone(), HOUR, Clock::system()).unwrap();
    let ada = Principal::operator("ada");
    let asked = id(open().ask(call("a", "1")).await.unwrap());
    let pending = open();
    let shown = pending.list().remove(0);
    assert_eq!((&shown.id, shown.asker.unwrap()), (&asked, Principal::new("a")));
    pending.decide(&ada, &asked, &yes(&ada)).await.unwrap();
    let pending = open();
    assert!(pending.list().is_empty());
    assert_eq!(decision(pending.ask(call("b", "2")).await.unwrap()), None);
    assert_eq!(decision(pending.ask(call("a", "1")).await.unwrap()), Some(Decision::Approved));
    let again = id(open().ask(call("a", "1")).await.unwrap());
    assert_ne!(again, asked, "a yes to one call is none to the next, whatever ends in between");
}

#[tokio::test]
async fn a_lasting_yes_is_entered_into_the_book_though_nobody_waits_for_it() {
    let book = book(&Arc::default()).await;
    let pending = of_book(&book, HOUR, Clock::system());
    let ada = Principal::operator("ada");
    let own = || at_once(question(Permission::Camera));
    let asked = id(pending.ask(own()).await.unwrap());
    pending.decide(&ada, &asked, &yes(&ada)).await.unwrap();
    assert!(book.is_granted(&"s".into(), &Permission::Camera));
    // What was decided elsewhere is asked no more.
    id(pending.ask(at_once(question(Permission::ShellExecute))).await.unwrap());
    book.grant(&ada, None, &"s".into(), &Permission::ShellExecute, GrantTerms::default()).await.unwrap();
    assert!(pending.list().is_empty());
}

#[tokio::test]
async fn more_questions_than_anybody_reads_are_refused() {
    let pending = testing::pending(Clock::system()).await;
    let mut asking = Vec::new();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for number in 0..=MAX_QUESTIONS {
        let server = format!("s{}", number / 8);
        let mut ask = pending.ask(from(None, &server, number));
        let polled = ask.as_mut().poll(&mut context);
        assert_eq!(polled.is_ready(), number == MAX_QUESTIONS);
        asking.push(ask);
    }
    assert_eq!(pending.list().len(), MAX_QUESTIONS);
}

fn from(agent: Option<&str>, server: &str, number: usize) -> ApprovalQuestion {
    let permission = Permission::read(&format!("com.example.{server}.p{number}"));
    let subject = ApprovalSubject::Permission {
        permission,
        risk: mgp_types::mgp::RiskLevel::Safe,
        tool: None,
        flow: None,
        arguments: None,
    };
    let mut context = Context::default();
    context.principal = agent.map(Principal::new);
    ApprovalQuestion::new(server.into(), subject, context)
}

#[tokio::test]
async fn neither_an_agent_nor_a_server_takes_the_room_of_the_others() {
    let pending = testing::pending(Clock::system()).await;
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut asking = Vec::new();
    let mut ask = |agent: Option<&str>, server: &str, count: usize| {
        let mut refused = 0;
        for number in 0..count {
            let mut ask = pending.ask(from(agent, server, number));
            refused += usize::from(ask.as_mut().poll(&mut context).is_ready());
            asking.push(ask);
        }
        refused
    };
    assert_eq!(ask(Some("greedy"), "s", MAX_QUESTIONS), MAX_QUESTIONS - 16);
    assert_eq!(ask(None, "rogue", MAX_QUESTIONS), MAX_QUESTIONS - 64);
    assert_eq!(ask(Some("modest"), "other", 16), 0);
    assert_eq!(ask(None, "honest", 64), 0);
    // To join a question that stands already takes no room.
    assert_eq!(ask(Some("greedy"), "honest", 1), 0);
}

#[tokio::test]
async fn ids_are_short_and_no_two_questions_have_the_same() {
    let pending = testing::pending(Clock::system()).await;
    for number in 0..MAX_QUESTIONS {
        let agent = format!("a{}", number / MAX_OF_ASKER);
        let id = id(pending.ask(call(&agent, &number.to_string())).await.unwrap());
        assert!(id.as_str().len() == 4 && id.as_str().bytes().all(|c| c.is_ascii_alphanumeric()), "{id:?}");
    }
    let ids: std::collections::HashSet<_> = pending.list().into_iter().map(|open| open.id).collect();
    assert_eq!(ids.len(), MAX_QUESTIONS);
}

#[tokio::test]
async fn a_decision_about_a_permission_says_which_question_it_answers() {
    let book = book(&Arc::default()).await;
    let pending = of_book(&book, HOUR, Clock::system());
    let ada = Principal::operator("ada");
    let asked = || at_once(from(Some("a"), "s", 1));
    let first = id(pending.ask(asked()).await.unwrap());
    let no = ApprovalAnswer::new(ada.clone(), Decision::Denied);
    pending.decide(&ada, &first, &no).await.unwrap();
    let record = book.all_records().remove(0);
    assert_eq!(record.question.as_deref(), Some(first.as_str()));
    assert!(pending.answered().is_empty(), "it is decided, and no answer waits");
    // A yes to a call waits for the call.
    let second = id(pending.ask(call("a", "1")).await.unwrap());
    pending.decide(&ada, &second, &yes(&ada)).await.unwrap();
    assert_eq!(pending.answered().remove(0).id, second);
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_person_is_not_asked_hears_at_once_where_the_question_waits() {
    let pending = testing::pending(Clock::system()).await;
    let mut asked = from(Some("a"), "s", 1);
    let begun = tokio::time::Instant::now();
    id(pending.ask(asked.clone()).await.unwrap());
    assert!(!begun.elapsed().is_zero());
    asked.context.unattended = true;
    let begun = tokio::time::Instant::now();
    let question = waiting(pending.ask(asked.clone()).await.unwrap());
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let server = ServerId::from("s");
    let waits = super::super::WaitingSubject::Server(&server);
    let refusal = super::super::waits_for_approval(code::PERMISSION_DENIED, &waits, &question);
    assert!(refusal.message().ends_with("`mgp clients trust` changes that)"), "{refusal}");
}

/// A listener that notes what it hears, and goes on with the call.
#[derive(Debug, Default)]
struct Listening(Mutex<Vec<Option<String>>>);

impl WaitListener for Listening {
    fn hear(&self, waits_for: Option<&str>) -> bool {
        self.0.lock().push(waits_for.map(str::to_owned));
        true
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_goes_on_behind_its_answer_waits_for_an_hour_and_says_for_what() {
    let pending = testing::pending(Clock::system()).await;
    pending.set_page("http://127.0.0.1:1/questions/".to_owned());
    let (mut asked, listening) = (from(Some("a"), "s", 1), Arc::new(Listening::default()));
    asked.context.wait_listener = Some(Arc::clone(&listening) as _);
    let begun = tokio::time::Instant::now();
    let WaitingQuestion { id, link, .. } = waiting(pending.ask(asked).await.unwrap());
    assert!(begun.elapsed() >= HOUR, "{:?}", begun.elapsed());
    let (id, page) = (id.as_str(), format!("http://127.0.0.1:1/questions/{}", id.as_str()));
    let waits_for = format!("waiting for approval: mgp permissions approve {id} or {page}");
    assert_eq!(*listening.0.lock(), [Some(waits_for), None]);
    assert_eq!(link, Some(page));
}
