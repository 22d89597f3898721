-- One table for each application, on every node; on replicated nodes use ReplicatedMergeTree instead.
CREATE TABLE IF NOT EXISTS tb_logs_order_service (timestamp DateTime, application String, level String, message String, duration_ms UInt32) ENGINE = MergeTree ORDER BY timestamp;
CREATE TABLE IF NOT EXISTS tb_logs_web (timestamp DateTime, application String, level String, message String, duration_ms UInt32) ENGINE = MergeTree ORDER BY timestamp;
CREATE TABLE IF NOT EXISTS tb_refused (timestamp DateTime, application String, level String, message String, reason String) ENGINE = MergeTree ORDER BY timestamp;
