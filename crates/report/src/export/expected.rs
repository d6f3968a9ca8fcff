//! The expected lane map and logs as flat tables.

use tangle_program::map_buffer;
use tangle_program::tree::SiteId;

use tangle_identity::account::Account;

/// What a device with the same lane map has to write, invocation by invocation.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    /// The buffer of the lane map.
    pub map: Vec<u32>,
    /// Where each invocation's words begin in `log`, and where the last ones end.
    pub log_start: Vec<u32>,
    /// All words; zero where nothing is compared.
    pub log: Vec<u32>,
    /// A bit for each word: nothing is compared.
    pub left_open: Vec<u32>,
    /// Where each invocation's entries begin in `step_of_entry`, and where the last ones end.
    pub entry_start: Vec<u32>,
    /// The step of every entry.
    pub step_of_entry: Vec<u32>,
    /// For each invocation 1 if its log may go on in an unknown way.
    pub ends_open: Vec<u32>,
    /// The sites of the program.
    pub sites: Vec<SiteRow>,
}

/// A log site, as the table of sites has it.
#[derive(Clone, Debug)]
pub(super) struct SiteRow {
    pub id: SiteId,
    /// Words after the site.
    pub words: usize,
    pub line: usize,
    pub source: String,
}

impl Expected {
    /// The tables of an account, for the lane map that it was made on.
    pub fn new(account: &Account<'_>, map: &[u32]) -> Expected {
        let map = map_buffer::pack(&account.case.entry_point, map);
        let mut expected = Expected { map, ..Expected::default() };
        for lane in account.by_ordinal() {
            expected.log_start.push(expected.log.len() as u32);
            expected.entry_start.push(expected.step_of_entry.len() as u32);
            // Nothing is said of the log of an invocation that there is none of.
            expected.ends_open.push(lane.is_none_or(|lane| lane.open_end).into());
            for entry in lane.iter().flat_map(|lane| &lane.entries) {
                expected.step_of_entry.push(entry.step as u32);
                entry.words.iter().for_each(|&word| expected.push(word));
            }
        }
        expected.log_start.push(expected.log.len() as u32);
        expected.entry_start.push(expected.step_of_entry.len() as u32);
        let row = |site: &tangle_identity::account::Site| SiteRow {
            id: site.id,
            words: site.values.len(),
            line: site.line,
            source: site.source.clone(),
        };
        expected.sites = account.sites.values().map(row).collect();
        expected
    }

    fn push(&mut self, word: Option<u32>) {
        let at = self.log.len();
        self.left_open.resize(at / 32 + 1, 0);
        self.left_open[at / 32] |= u32::from(word.is_none()) << (at % 32);
        self.log.push(word.unwrap_or(0));
    }

    /// Words of all logs.
    pub fn words(&self) -> usize {
        self.log.len()
    }

    /// Entries of all logs.
    pub fn entries(&self) -> usize {
        self.step_of_entry.len()
    }
}
