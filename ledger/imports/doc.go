// Package imports reads what people bring: tables of records in CSV, TSV, JSON,
// JSON Lines and Parquet, and ledgers and exports of other programs.
//
// ReadTable is the first thing to call. Reading is deterministic and loses
// nothing silently: a file that is not what it says is refused with its line
// and column, and no message quotes a value of the file.
package imports
