//! Records as comma-separated values.

use serde_json::{Map, Value};

use super::{LifetimeRecord, QueueRecord, ReadOnlyRecord, Record};

impl Record {
    /// The names of the columns, as one line without its end.
    pub fn csv_head() -> String {
        line(&columns())
    }

    /// The values, as one line without its end; empty where a run has none. The histogram is left out.
    pub fn csv(&self) -> String {
        row(&fields(self), &columns())
    }
}

/// Every key of a record that is one value, in order.
fn columns() -> Vec<String> {
    let whole = Record {
        lifetime: Some(LifetimeRecord::default()),
        queue: Some(QueueRecord::default()),
        read_only: Some(ReadOnlyRecord::default()),
        ..Record::default()
    };
    fields(&whole).into_iter().filter(|(_, value)| !value.is_array()).map(|(key, _)| key).collect()
}

fn fields(record: &Record) -> Map<String, Value> {
    match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// The values of some columns, as one line without its end; empty where there is none.
pub(crate) fn row(fields: &Map<String, Value>, columns: &[String]) -> String {
    let cell = |column: &String| match fields.get(column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    line(&columns.iter().map(cell).collect::<Vec<_>>())
}

/// Cells as one line without its end.
pub(crate) fn line(cells: &[String]) -> String {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::Any(b'\n')).from_writer(Vec::new());
    // Writing to memory cannot fail.
    let _ = writer.write_record(cells);
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Parameters;

    #[test]
    fn heads_and_rows_have_the_same_columns() {
        let parameters = Parameters { access: "trace:a,b \"c\"".to_owned(), ..Parameters::default() };
        let plain = Record { parameters, waf: 1.5, ..Record::default() };
        let lived = LifetimeRecord { dead_segments: 7, ..LifetimeRecord::default() };
        let lived = Record { lifetime: Some(lived), ..plain.clone() };
        assert!(Record::csv_head().starts_with("access,victim,") && Record::csv_head().contains(",waf,"));
        assert!(plain.csv().starts_with("\"trace:a,b \"\"c\"\"\",") && plain.csv().contains(",1.5,"));
        let text = [Record::csv_head(), plain.csv(), lived.csv()].join("\n");
        let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
        let at = reader.headers().unwrap().iter().position(|column| column == "dead_segments").unwrap();
        let cells: Vec<_> = reader.records().map(|row| row.unwrap()[at].to_owned()).collect();
        assert_eq!(cells, ["", "7"]);
    }
}
