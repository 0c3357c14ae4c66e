//! Priority levels: how many of their requests are executed at the same time, and which of those that wait is next.
//!
//! The flow with the fewest requests in execution is next, and among equals the one that was served longest ago.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use serde_json::Value;
use tokio::sync::oneshot;

/// How long a request waits for a seat: a quarter of the default of `--request-timeout`.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// What a level allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Exempt,
    Limited { seats: usize, queuing: Queuing },
}

/// How many requests may wait: of a flow, and in total. Both are zero if a level rejects what exceeds its seats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Queuing {
    per_flow: usize,
    total: usize,
}

impl Limit {
    /// The limit of a level that has its part of all seats.
    pub(super) fn of(object: &Value, seats: u64, total_shares: u64) -> Self {
        let spec = &object["spec"];
        if spec["type"] == "Exempt" {
            return Self::Exempt;
        }
        let part = shares(object).saturating_mul(seats);
        let part = part.div_ceil(total_shares.max(1));
        let response = &spec["limited"]["limitResponse"];
        let queuing = &response["queuing"];
        let number = |field: &str| usize::try_from(queuing[field].as_u64().unwrap_or_default());
        let number = |field: &str| number(field).unwrap_or(usize::MAX);
        let per_flow = number("queueLengthLimit");
        let queuing = match response["type"].as_str() {
            Some("Queue") => Queuing {
                per_flow,
                total: per_flow.saturating_mul(number("queues")),
            },
            _ => Queuing::default(),
        };
        Self::Limited {
            seats: usize::try_from(part).unwrap_or(usize::MAX),
            queuing,
        }
    }
}

/// The nominal concurrency shares of a level.
pub(super) fn shares(object: &Value) -> u64 {
    let spec = &object["spec"];
    let of = match spec["type"].as_str() {
        Some("Exempt") => &spec["exempt"],
        _ => &spec["limited"],
    };
    let shares = of["nominalConcurrencyShares"].as_u64();
    shares.unwrap_or_default().min(u64::from(u32::MAX))
}

/// What the metrics report of a level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LevelMetrics {
    /// None for an exempt level.
    pub(crate) nominal_seats: Option<usize>,
    pub(crate) executing: usize,
    pub(crate) queued: usize,
    pub(crate) rejected: u64,
}

#[derive(Debug)]
pub(super) struct PriorityLevel {
    pub(super) uid: HeaderValue,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: Limit,
    executing: usize,
    flows: HashMap<String, FlowState>,
    /// How many requests were given a seat after they waited.
    served: u64,
    rejected: u64,
}

#[derive(Debug, Default)]
struct FlowState {
    executing: usize,
    waiting: VecDeque<oneshot::Sender<Seat>>,
    /// The value of [`State::served`] when the flow was served last.
    last_served: u64,
}

/// The right to be executed. Dropping it lets the next request begin.
#[derive(Debug)]
pub(crate) struct Seat {
    /// None if it is not to be released.
    level: Option<Arc<PriorityLevel>>,
    flow: String,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(level) = self.level.take() {
            level.lock().end(&self.flow);
            level.dispatch();
        }
    }
}

impl PriorityLevel {
    pub(super) fn new(uid: HeaderValue) -> Self {
        Self {
            uid,
            state: Mutex::new(State {
                limit: Limit::Exempt,
                executing: 0,
                flows: HashMap::new(),
                served: 0,
                rejected: 0,
            }),
        }
    }

    /// Changes the limit; requests for which there are seats now begin.
    pub(super) fn set_limit(self: &Arc<Self>, limit: Limit) {
        self.lock().limit = limit;
        self.dispatch();
    }

    /// Waits for a seat; none if too many requests of the level or of the flow wait, or if it takes too long.
    pub(super) async fn begin(self: &Arc<Self>, flow: &str) -> Option<Seat> {
        let receiver = match self.lock().admit(flow) {
            Admission::Begins => return Some(self.seat(flow)),
            Admission::Waits(receiver) => receiver,
            Admission::Rejected => return None,
        };
        // Earlier requests may have left the queue.
        self.dispatch();
        let seat = tokio::time::timeout(MAX_WAIT, receiver).await;
        let seat = seat.ok().and_then(Result::ok);
        if seat.is_none() {
            self.lock().reject();
        }
        seat
    }

    pub(super) fn metrics(&self) -> LevelMetrics {
        let state = self.lock();
        LevelMetrics {
            nominal_seats: match state.limit {
                Limit::Exempt => None,
                Limit::Limited { seats, .. } => Some(seats),
            },
            executing: state.executing,
            queued: state.queued(),
            rejected: state.rejected,
        }
    }

    /// Lets requests begin while there are seats.
    fn dispatch(self: &Arc<Self>) {
        loop {
            let Some((flow, sender)) = self.lock().take_next() else {
                return;
            };
            if let Err(mut seat) = sender.send(self.seat(&flow)) {
                // The request no longer waits.
                seat.level = None;
                self.lock().end(&flow);
            }
        }
    }

    fn seat(self: &Arc<Self>, flow: &str) -> Seat {
        Seat {
            level: Some(Arc::clone(self)),
            flow: flow.to_owned(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Admission {
    Begins,
    Waits(oneshot::Receiver<Seat>),
    Rejected,
}

impl State {
    fn admit(&mut self, flow: &str) -> Admission {
        let Limit::Limited { queuing, .. } = self.limit else {
            self.executing = self.executing.saturating_add(1);
            return Admission::Begins;
        };
        if self.has_seat() && self.flows.values().all(|flow| flow.waiting.is_empty()) {
            self.begin(flow);
            return Admission::Begins;
        }
        self.forget_abandoned();
        let waiting = self.flows.get(flow).map_or(0, |flow| flow.waiting.len());
        if waiting >= queuing.per_flow || self.queued() >= queuing.total {
            self.reject();
            return Admission::Rejected;
        }
        let (sender, receiver) = oneshot::channel();
        let state = self.flows.entry(flow.to_owned()).or_default();
        state.waiting.push_back(sender);
        Admission::Waits(receiver)
    }

    fn has_seat(&self) -> bool {
        match self.limit {
            Limit::Exempt => true,
            Limit::Limited { seats, .. } => self.executing < seats,
        }
    }

    fn begin(&mut self, flow: &str) {
        self.executing = self.executing.saturating_add(1);
        let flow = self.flows.entry(flow.to_owned()).or_default();
        flow.executing = flow.executing.saturating_add(1);
    }

    fn end(&mut self, flow: &str) {
        self.executing = self.executing.saturating_sub(1);
        if let Some(state) = self.flows.get_mut(flow) {
            state.executing = state.executing.saturating_sub(1);
            if state.executing == 0 && state.waiting.is_empty() {
                self.flows.remove(flow);
            }
        }
    }

    fn reject(&mut self) {
        self.rejected = self.rejected.saturating_add(1);
    }

    fn queued(&self) -> usize {
        self.flows.values().map(|flow| flow.waiting.len()).sum()
    }

    /// The next request, which begins.
    fn take_next(&mut self) -> Option<(String, oneshot::Sender<Seat>)> {
        if !self.has_seat() {
            return None;
        }
        let waiting = self
            .flows
            .iter()
            .filter(|(_, flow)| !flow.waiting.is_empty());
        let next = waiting.min_by_key(|(_, flow)| (flow.executing, flow.last_served));
        let name = next.map(|(name, _)| name.clone())?;
        self.served = self.served.saturating_add(1);
        let flow = self.flows.get_mut(&name)?;
        flow.last_served = self.served;
        let sender = flow.waiting.pop_front()?;
        self.begin(&name);
        Some((name, sender))
    }

    /// Requests whose clients left, or that waited too long, do not count.
    fn forget_abandoned(&mut self) {
        for flow in self.flows.values_mut() {
            flow.waiting.retain(|sender| !sender.is_closed());
        }
        self.flows
            .retain(|_, flow| flow.executing > 0 || !flow.waiting.is_empty());
    }
}
