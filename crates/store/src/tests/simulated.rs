//! A simulated disk that can be full, fail, or lose unsynced writes at power loss.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use redb::{Builder, StorageBackend};

use super::super::backend::{Backend, FIRST_REVISION, File, RESERVED_BYTES, Reserve, create_in};
use super::*;

const BLOCK: u64 = 4096;
const SECTOR: usize = 512;

/// Clones refer to the same disk.
#[derive(Debug, Clone, Default)]
pub(super) struct SimulatedDisk(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// The content after a power loss.
    durable: Vec<u8>,
    /// The content that readers see.
    current: Vec<u8>,
    /// Operations since the last sync.
    pending: Vec<Pending>,
    /// Allocated blocks; writes to others fail when the disk is full.
    allocated: BTreeSet<u64>,
    faults: Faults,
    /// The number of blocks of the disk, if it has a limit.
    capacity: Option<u64>,
    /// Whether the reserve occupies space.
    reserved: bool,
    /// Blocks that can be allocated although the disk is full.
    released: u64,
    /// The number of power losses. Files opened before the last one fail.
    boots: u64,
    /// Operations until the power is lost.
    fuse: Option<u64>,
}

#[derive(Debug, Clone)]
enum Pending {
    Write(usize, Vec<u8>),
    Length(usize),
}

/// The injected faults.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    /// The disk is full: no new blocks.
    pub(super) full: bool,
    /// All writes fail.
    pub(super) broken: bool,
    /// A sync succeeds but reports an error.
    pub(super) lying_sync: bool,
}

impl SimulatedDisk {
    /// A disk with an empty store on it.
    pub(super) fn with_store() -> Self {
        let disk = Self::default();
        let database = Builder::new().create_with_backend(disk.plug()).unwrap();
        create_in(&database, FIRST_REVISION).unwrap();
        drop(database);
        disk
    }

    pub(super) fn set(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// Fills the disk up to `left` bytes, with what is not of the store.
    pub(super) fn fill(&self, left: u64) {
        let mut inner = self.lock();
        inner.reserved = false;
        inner.capacity = Some(inner.allocated.len() as u64 + left / BLOCK);
    }

    /// Cuts the power after `operations` more.
    pub(super) fn cut_power_after(&self, operations: u64) {
        self.lock().fuse = Some(operations);
    }

    /// Cuts and restores the power. Any part of the unsynced operations may survive.
    pub(super) fn cut_power(&self, mut random: impl FnMut() -> u64) {
        let mut inner = self.lock();
        inner.boots += 1;
        inner.fuse = None;
        let pending = std::mem::take(&mut inner.pending);
        let mut survived = std::mem::take(&mut inner.durable);
        for operation in &pending {
            match operation {
                Pending::Length(length) => survived.resize(*length, 0),
                Pending::Write(offset, data) => {
                    for (index, sector) in data.chunks(SECTOR).enumerate() {
                        let at = offset + index * SECTOR;
                        if random().is_multiple_of(2) && at + sector.len() <= survived.len() {
                            survived[at..at + sector.len()].copy_from_slice(sector);
                        }
                    }
                }
            }
        }
        inner.durable.clone_from(&survived);
        inner.current = survived;
    }

    pub(super) fn open(&self) -> Result<Store, OpenError> {
        let boot = self.lock().boots;
        let disk = self.clone();
        let open = Box::new(move |builder: &Builder| {
            let file = Plugged {
                disk: disk.clone(),
                boot,
            };
            builder.create_with_backend(file)
        });
        let reserve = Box::new(self.clone());
        let (file, state) = File::with(PathBuf::from("simulated"), open, || 0, reserve)?;
        Store::start(Options::in_memory(), Backend::File(Box::new(file)), state)
    }

    fn plug(&self) -> Plugged {
        Plugged {
            disk: self.clone(),
            boot: self.lock().boots,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }
}

impl Inner {
    fn has_room_for(&self, blocks: u64) -> bool {
        let reserved = if self.reserved {
            RESERVED_BYTES / BLOCK
        } else {
            0
        };
        let used = self.allocated.len() as u64 + reserved;
        self.capacity
            .is_none_or(|capacity| used + blocks <= capacity)
    }
}

impl Reserve for SimulatedDisk {
    fn allocate(&self) -> io::Result<()> {
        let mut inner = self.lock();
        let is_full = inner.faults.full || !inner.has_room_for(RESERVED_BYTES / BLOCK);
        if is_full && !inner.reserved {
            return Err(io::ErrorKind::StorageFull.into());
        }
        inner.reserved = true;
        Ok(())
    }

    fn release(&self) -> io::Result<()> {
        let mut inner = self.lock();
        inner.reserved = false;
        inner.released = RESERVED_BYTES / BLOCK;
        Ok(())
    }
}

/// An open file on the disk.
#[derive(Debug)]
struct Plugged {
    disk: SimulatedDisk,
    boot: u64,
}

impl Plugged {
    fn read_only(&self) -> io::Result<std::sync::MutexGuard<'_, Inner>> {
        let inner = self.disk.lock();
        if inner.boots == self.boot && inner.fuse != Some(0) {
            return Ok(inner);
        }
        Err(io::Error::other("the power is off"))
    }

    fn operate(&self) -> io::Result<std::sync::MutexGuard<'_, Inner>> {
        let mut inner = self.read_only()?;
        inner.fuse = inner.fuse.map(|left| left - 1);
        if inner.fuse == Some(0) {
            return Err(io::Error::other("the power went"));
        }
        if inner.faults.broken {
            return Err(io::Error::other("the disk is broken"));
        }
        Ok(inner)
    }
}

impl StorageBackend for Plugged {
    fn len(&self) -> io::Result<u64> {
        Ok(self.read_only()?.current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let inner = self.read_only()?;
        let offset = position(offset);
        let data = inner.current.get(offset..offset + out.len());
        out.copy_from_slice(data.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut inner = self.operate()?;
        let size = position(length);
        inner.current.resize(size, 0);
        inner.allocated = inner
            .allocated
            .range(..length.div_ceil(BLOCK))
            .copied()
            .collect();
        inner.pending.push(Pending::Length(size));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut inner = self.operate()?;
        for operation in std::mem::take(&mut inner.pending) {
            match operation {
                Pending::Length(length) => inner.durable.resize(length, 0),
                Pending::Write(offset, data) => {
                    inner.durable[offset..offset + data.len()].copy_from_slice(&data);
                }
            }
        }
        if inner.faults.lying_sync {
            return Err(io::Error::other("the disk says that it failed"));
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut inner = self.operate()?;
        let blocks = offset / BLOCK..(offset + data.len() as u64).div_ceil(BLOCK);
        let is_new = |block: &u64| !inner.allocated.contains(block);
        let new = blocks.clone().filter(is_new).count() as u64;
        if !inner.has_room_for(new) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if inner.faults.full {
            let left = inner.released.checked_sub(new);
            inner.released = left.ok_or(io::ErrorKind::StorageFull)?;
        }
        inner.allocated.extend(blocks);
        let offset = position(offset);
        inner.current[offset..offset + data.len()].copy_from_slice(data);
        inner.pending.push(Pending::Write(offset, data.to_vec()));
        Ok(())
    }
}

fn position(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

/// A deterministic pseudo-random sequence.
pub(super) fn random(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    }
}
