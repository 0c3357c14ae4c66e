//! Which renders run at the same time, in the whole process.
//!
//! The render that has used the least time runs first, and one that runs yields to those that have used at most half of its
//! time. So charts that loop delay ordinary ones by a tick at most, however many they are. Renders that have used much
//! time share few slots, and most of them give up their memory while they wait: they start over when it is their turn.
//!
//! The memory of all renders is bounded: a render starts with little memory, and starts over in the only slot of large
//! renders if it needs more. A thread keeps its [`MemoryPermit`] until it ends, so that a render which is cancelled and
//! has not noticed yet is not replaced.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::control::{CancelOnDrop, RenderControl};
use crate::error::Error;

/// How often a render checks whether it must yield. Nearly all renders take less.
const TICK: Duration = Duration::from_millis(50);

/// A render that has used more time is slow.
const FAST: Duration = Duration::from_secs(1);

/// How long a render may run.
const MAX_DURATION: Duration = Duration::from_mins(1);

/// The number of paused renders that keep their memory.
const MAX_PAUSED: usize = 2;

static SLOTS: LazyLock<Arc<Slots>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // One render per core, and as many that wait for responses to `lookup`.
    Arc::new(Slots::new(2 * cores, (cores / 2).max(1)))
});

/// How much memory a render may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Small,
    Large,
}

/// What a render has used so far.
#[derive(Debug, Clone, Copy)]
struct Usage {
    time: Duration,
    size: Size,
}

impl Usage {
    /// The index of the class of the render: fast, slow or large.
    fn class(self) -> usize {
        match self.size {
            Size::Small => usize::from(self.time >= FAST),
            Size::Large => 2,
        }
    }
}

/// The right to use the memory of a render. The thread that renders keeps it until it ends.
#[derive(Debug)]
pub(super) struct MemoryPermit(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

/// The result of a render within the limits of its size.
pub(super) struct Attempt<T> {
    pub(super) output: Result<T, Error>,
    pub(super) is_limit_reached: bool,
}

/// A render on another thread, which is cancelled when this is dropped.
pub(super) struct Running<T> {
    control: Arc<RenderControl>,
    handle: JoinHandle<Attempt<T>>,
    _guard: CancelOnDrop,
}

impl<T> Running<T> {
    pub(super) fn new(control: Arc<RenderControl>, handle: JoinHandle<Attempt<T>>) -> Self {
        Self {
            _guard: CancelOnDrop(Arc::clone(&control)),
            control,
            handle,
        }
    }
}

/// Runs a render that `start` starts, maybe several times, in slots.
pub(super) async fn run<T>(start: impl Fn(Size, MemoryPermit) -> Running<T>) -> Result<T, Error> {
    let mut used = Usage {
        time: Duration::ZERO,
        size: Size::Small,
    };
    let mut paused: Option<Running<T>> = None;
    loop {
        let control = paused.as_ref().map(|render| Arc::clone(&render.control));
        let slot = Slots::acquire(&SLOTS, used, control).await;
        let mut render = match paused.take() {
            Some(render) if render.control.resume() => render,
            _ => start(used.size, SLOTS.memory_permit(used.size).await),
        };
        let attempt = slot.until_yield(&mut render, &mut used).await?;
        match attempt {
            Some(attempt) if attempt.is_limit_reached && used.size == Size::Small => {
                used.size = Size::Large;
            }
            Some(attempt) => return attempt.output,
            // There is memory for one large render only.
            None if used.size == Size::Large => {}
            None => {
                render.control.pause();
                paused = Some(render);
            }
        }
    }
}

/// The slots of fast, slow and large renders, and the memory of small and large ones.
#[derive(Debug)]
struct Slots {
    capacity: [usize; 3],
    memory: [Arc<Semaphore>; 2],
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: [usize; 3],
    waiting: Vec<Waiter>,
    next_id: u64,
}

#[derive(Debug)]
struct Waiter {
    /// In the order of arrival.
    id: u64,
    used: Usage,
    /// Of the render, if it is paused and keeps its memory.
    control: Option<Arc<RenderControl>>,
    sender: oneshot::Sender<Slot>,
}

impl Waiter {
    fn rank(&self) -> (Duration, u64) {
        (self.used.time, self.id)
    }
}

/// The right to run. Dropping it lets the next render run.
#[derive(Debug)]
struct Slot {
    /// `None` if the slot is not released.
    slots: Option<Arc<Slots>>,
    class: usize,
}

impl Slot {
    /// Waits until the render ends, or until it must yield: then there is no result. Adds the time that it used.
    async fn until_yield<T>(
        &self,
        render: &mut Running<T>,
        used: &mut Usage,
    ) -> Result<Option<Attempt<T>>, Error> {
        let (before, began_at) = (used.time, Instant::now());
        loop {
            let ended = timeout(TICK, &mut render.handle).await;
            used.time = before + began_at.elapsed();
            match ended {
                Ok(attempt) => return attempt.map(Some).map_err(|_| Error::RenderAborted),
                Err(_) if used.time >= MAX_DURATION => {
                    return Err(Error::RenderTimeout(MAX_DURATION));
                }
                Err(_) if self.must_yield(*used) => return Ok(None),
                Err(_) => {}
            }
        }
    }

    /// Whether a render that has used so much must let another one run.
    fn must_yield(&self, used: Usage) -> bool {
        self.class != used.class()
            || self.slots.as_ref().is_some_and(|slots| {
                let state = slots.lock();
                let first = state.first(self.class).map(|at| state.waiting[at].used);
                first.is_some_and(|first| 2 * first.time <= used.time)
            })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(slots) = self.slots.take() {
            slots.release(self.class);
        }
    }
}

impl Slots {
    fn new(fast: usize, slow: usize) -> Self {
        Self {
            capacity: [fast, slow, 1],
            memory: [fast + slow + MAX_PAUSED, 1].map(|permits| Arc::new(Semaphore::new(permits))),
            state: Mutex::default(),
        }
    }

    /// Waits until a render that has ended, or was cancelled, no longer uses the memory.
    async fn memory_permit(&self, size: Size) -> MemoryPermit {
        match Arc::clone(&self.memory[size as usize])
            .acquire_owned()
            .await
        {
            Ok(permit) => MemoryPermit(permit),
            // The semaphores are never closed.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits for a slot for a render that has used some time and may be paused.
    async fn acquire(self: &Arc<Self>, used: Usage, control: Option<Arc<RenderControl>>) -> Slot {
        let receiver = {
            let mut state = self.lock();
            let class = used.class();
            if state.running[class] < self.capacity[class] {
                state.running[class] += 1;
                return self.slot(class);
            }
            let (sender, receiver) = oneshot::channel();
            let id = state.next_id;
            state.next_id += 1;
            state.waiting.push(Waiter {
                id,
                used,
                control,
                sender,
            });
            state.free_memory();
            receiver
        };
        match receiver.await {
            Ok(slot) => slot,
            // A waiter is removed only with a slot.
            Err(_) => std::future::pending().await,
        }
    }

    fn slot(self: &Arc<Self>, class: usize) -> Slot {
        Slot {
            slots: Some(Arc::clone(self)),
            class,
        }
    }

    /// Gives a slot that became free to the first render that waits for it.
    fn release(self: &Arc<Self>, class: usize) {
        loop {
            let next = {
                let mut state = self.lock();
                let next = state.take_next(class);
                if next.is_none() {
                    state.running[class] -= 1;
                }
                next
            };
            let Some(waiter) = next else { return };
            match waiter.sender.send(self.slot(class)) {
                Ok(()) => return,
                // It no longer waits.
                Err(mut slot) => slot.slots = None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn first(&self, wanted: usize) -> Option<usize> {
        let waiting = self.waiting.iter().enumerate();
        let waiting = waiting.filter(|(_, waiter)| waiter.used.class() == wanted);
        let first = waiting.min_by_key(|(_, waiter)| waiter.rank());
        first.map(|(at, _)| at)
    }

    fn take_next(&mut self, class: usize) -> Option<Waiter> {
        self.first(class).map(|at| self.waiting.swap_remove(at))
    }

    /// Cancels the paused renders that have used the most time. They start over when it is their turn.
    fn free_memory(&mut self) {
        self.waiting.retain(|waiter| !waiter.sender.is_closed());
        let mut paused: Vec<&mut Waiter> = self.waiting.iter_mut().collect();
        paused.retain(|waiter| waiter.control.is_some());
        paused.sort_by_key(|waiter| waiter.rank());
        for waiter in paused.into_iter().skip(MAX_PAUSED) {
            if let Some(control) = waiter.control.take() {
                control.cancel();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Usage {
        time(Duration::from_millis(millis))
    }

    fn time(time: Duration) -> Usage {
        Usage {
            time,
            size: Size::Small,
        }
    }

    /// A render that waits for a slot.
    fn wait(slots: &Arc<Slots>, used: Usage) -> JoinHandle<Slot> {
        let slots = Arc::clone(slots);
        tokio::spawn(async move { slots.acquire(used, None).await })
    }

    async fn until_waiting(slots: &Slots, count: usize) {
        while slots.lock().waiting.len() < count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_render_yields_to_those_that_have_used_at_most_half_of_its_time() {
        let slots = Arc::new(Slots::new(1, 1));
        let running = slots.acquire(millis(0), None).await;
        assert!(!running.must_yield(millis(900)));
        assert!(running.must_yield(time(FAST)), "it is slow from now on");
        let looping = wait(&slots, millis(400));
        until_waiting(&slots, 1).await;
        assert!(!running.must_yield(millis(750)));
        assert!(running.must_yield(millis(800)));
        let new = wait(&slots, millis(0));
        until_waiting(&slots, 2).await;
        assert!(running.must_yield(time(TICK)));
        drop(running);
        let new = new.await.unwrap();
        assert!(!looping.is_finished(), "the one that used less runs first");
        drop(new);
        looping.await.unwrap();
    }

    #[tokio::test]
    async fn slow_renders_take_no_slot_of_fast_ones() {
        let slots = Arc::new(Slots::new(1, 1));
        let slow = slots.acquire(time(FAST), None).await;
        let other_slow = wait(&slots, time(2 * FAST));
        until_waiting(&slots, 1).await;
        let fast = slots.acquire(millis(0), None).await;
        drop(fast);
        assert!(!other_slow.is_finished());
        drop(slow);
        other_slow.await.unwrap();
    }

    #[tokio::test]
    async fn a_slot_is_not_lost_if_a_render_no_longer_waits() {
        let slots = Arc::new(Slots::new(1, 1));
        let running = slots.acquire(millis(0), None).await;
        let aborted = wait(&slots, millis(0));
        until_waiting(&slots, 1).await;
        aborted.abort();
        assert!(aborted.await.is_err());
        drop(running);
        slots.acquire(millis(0), None).await;
    }

    #[tokio::test]
    async fn only_the_paused_renders_that_used_least_keep_their_memory() {
        let slots = Arc::new(Slots::new(1, 1));
        let _running = slots.acquire(time(FAST), None).await;
        let controls: Vec<Arc<RenderControl>> = (0..=MAX_PAUSED).map(|_| Arc::default()).collect();
        let mut waits = Vec::new();
        for (control, used) in controls.iter().zip(2..) {
            control.pause();
            let (slots, control) = (Arc::clone(&slots), Arc::clone(control));
            let acquired = async move { slots.acquire(time(used * FAST), Some(control)).await };
            waits.push(tokio::spawn(acquired));
        }
        until_waiting(&slots, controls.len()).await;
        let (most_used, others) = controls.split_last().unwrap();
        assert!(!most_used.resume(), "it was cancelled");
        assert!(others.iter().all(|control| control.resume()));
        for wait in waits {
            wait.abort();
        }
    }

    #[tokio::test]
    async fn a_render_that_reaches_a_limit_starts_over_as_a_large_one() {
        let sizes = Mutex::new(Vec::new());
        let output = run(|size, permit| {
            sizes.lock().unwrap().push(size);
            let handle = tokio::task::spawn_blocking(move || {
                drop(permit);
                Attempt {
                    output: Ok(size),
                    is_limit_reached: true,
                }
            });
            Running::new(Arc::default(), handle)
        });
        assert_eq!(output.await.unwrap(), Size::Large);
        assert_eq!(*sizes.lock().unwrap(), [Size::Small, Size::Large]);
    }

    #[tokio::test]
    async fn a_cancelled_render_is_not_replaced_before_its_thread_ends() {
        let slots = Slots::new(1, 1);
        let permit = slots.memory_permit(Size::Large).await;
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let handle = tokio::task::spawn_blocking(move || {
            let _ = receiver.recv();
            drop(permit);
            Attempt {
                output: Ok(()),
                is_limit_reached: false,
            }
        });
        drop(Running::new(Arc::default(), handle));
        let mut next = Box::pin(slots.memory_permit(Size::Large));
        assert!(futures::poll!(&mut next).is_pending());
        drop(sender);
        next.await;
    }
}
