/// What `--test` selects.
package enum BenchTest: String, CaseIterable, Sendable {
  case read
  case write
  case writeCommand = "write-command"
  case notify
  case indicate
  case longRead = "long-read"
  case discover
  case ping

  var workload: Workload {
    switch self {
    case .read: Workload(rawValue, nil, .roundTrip, as: .read)
    case .ping: Workload(rawValue, nil, .roundTrip, as: .read)
    case .longRead, .discover: Workload(rawValue, nil, .procedure, as: .read)
    case .write: Workload(rawValue, .here, .roundTrip, as: .write)
    case .writeCommand:
      Workload(rawValue, .here, .acceptance, as: .writeCommand)
    case .notify: Workload(rawValue, .peer, .interval, as: .notify)
    case .indicate: Workload(rawValue, .peer, .interval, as: .write)
    }
  }

  /// What the stages of its latencies are of; nil if an operation is more than one exchange.
  var staged: StagedOperation? {
    switch self {
    case .read, .write, .ping: .roundTrip
    case .notify, .indicate: .value
    case .writeCommand: .command
    case .longRead, .discover: nil
    }
  }

  /// What the peer has to offer, for messages.
  var need: String {
    switch self {
    case .read: "a readable characteristic"
    case .longRead: "a readable characteristic, best with a long value"
    case .write:
      "a characteristic of bench.json or of ESP-IDF's throughput_app, or --handle of one with the property"
        + " write"
    case .writeCommand:
      "a characteristic of bench.json or of the throughput services of Nordic and ST, or --handle of one"
        + " with the property writeWithoutResponse"
    case .notify: "a characteristic that notifies by itself"
    case .indicate: "a characteristic that indicates by itself"
    case .discover, .ping: "nothing"
    }
  }
}
