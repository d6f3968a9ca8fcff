//! Data about every byte or granule of a variable, of which pages exist only where something other than the default was written.

use crate::exec::stop::Stop;

/// What a run may still allocate, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Budget(pub(super) u64);

impl Budget {
    /// Takes bytes from what is left, or ends the run.
    pub fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        self.0 = self.0.checked_sub(bytes as u64).ok_or(Stop::Memory)?;
        Ok(())
    }

    /// Gives bytes back that were taken.
    pub fn give(&mut self, bytes: usize) {
        self.0 += bytes as u64;
    }
}

/// Elements that are allocated together.
pub(super) const PAGE: usize = 64;

/// Something for each of many places, allocated where it is first written.
#[derive(Clone, Debug, Default)]
pub(super) struct Sparse<T> {
    /// What stands where nothing was written.
    pub(super) fill: T,
    /// None before the first page is there.
    pub(super) pages: Vec<Option<Box<[T; PAGE]>>>,
    pub(super) used: usize,
}

impl<T: Copy> Sparse<T> {
    pub(super) fn new(fill: T) -> Sparse<T> {
        Sparse { fill, pages: Vec::new(), used: 0 }
    }

    /// A page, and its number, for every one that is there.
    pub(super) fn pages(&self) -> impl Iterator<Item = (usize, &[T; PAGE])> {
        self.pages.iter().enumerate().filter_map(|(at, page)| Some((at, &**page.as_ref()?)))
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> T {
        match self.pages.get(at / PAGE) {
            Some(Some(page)) => page[at % PAGE],
            _ => self.fill,
        }
    }

    /// A place among `count`.
    #[inline]
    pub(super) fn at(&mut self, at: usize, count: usize, budget: &mut Budget) -> Result<&mut T, Stop> {
        Ok(&mut self.page(at / PAGE, count, budget)?[at % PAGE])
    }

    #[inline]
    pub(super) fn page(&mut self, number: usize, count: usize, budget: &mut Budget) -> Result<&mut [T; PAGE], Stop> {
        if !matches!(self.pages.get(number), Some(Some(_))) {
            self.make_page(number, count, budget)?;
        }
        self.pages[number].as_deref_mut().ok_or(Stop::Memory)
    }

    #[cold]
    fn make_page(&mut self, number: usize, count: usize, budget: &mut Budget) -> Result<(), Stop> {
        if self.pages.is_empty() {
            let pages = count.div_ceil(PAGE);
            budget.take(pages * size_of::<Option<Box<[T; PAGE]>>>())?;
            self.used += pages * size_of::<Option<Box<[T; PAGE]>>>();
            self.pages.resize_with(pages, || None);
        }
        budget.take(size_of::<[T; PAGE]>())?;
        self.used += size_of::<[T; PAGE]>();
        self.pages[number] = Some(Box::new([self.fill; PAGE]));
        Ok(())
    }

    /// Sets every place to `fill`, and gives the pages back to `budget`.
    pub(super) fn reset(&mut self, fill: T, budget: &mut Budget) {
        budget.give(self.used);
        *self = Sparse::new(fill);
    }
}
