import AttoGateway

/// Why there is no connection to a broker.
enum BrokerFault: Error, Equatable, Sendable {
  /// libmosquitto is missing or incomplete; the text is the system's.
  case libraryMissing(String)
  /// A file of the configuration cannot be used.
  case file(String, reason: String)
  /// The connection could not be made; the text is the library's.
  case unreachable(Configuration.MQTT.Broker, String)
  /// The broker has refused the client.
  case refused(Configuration.MQTT.Broker, String)
  /// The broker did not answer in this time.
  case timeout(Configuration.MQTT.Broker, after: Duration)
  /// The connection has ended; the text is the library's.
  case lost(Configuration.MQTT.Broker, String)
}

extension BrokerFault: CustomStringConvertible {
  var description: String {
    switch self {
    case .libraryMissing(let reason):
      "cannot load libmosquitto: \(reason) (Debian: install libmosquitto1)"
    case .file(let path, let reason): "cannot use \(path): \(reason)"
    case .unreachable(let broker, let reason): "cannot connect to \(broker): \(reason)"
    case .refused(let broker, let reason): "\(broker) refuses the connection: \(reason)"
    case .timeout(let broker, let time): "\(broker) did not answer within \(time)"
    case .lost(let broker, let reason): "lost the connection to \(broker): \(reason)"
    }
  }
}
