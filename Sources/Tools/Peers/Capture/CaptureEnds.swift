import Atto
import AttoFormats
import AttoLinks

/// The two ends of the connections in a capture file.
///
/// Radios have addresses. Other ends are given made-up ones: the end that listens has that of its
/// endpoint's text, and clients have those of "client 1 of ENDPOINT" and so on, by the lowest number
/// that is free. So one client and its server make up the same addresses.
package struct CaptureEnds {
  /// The endpoint at which one of the ends listens.
  let endpoint: String
  /// Whether this end connects to it, rather than listens.
  let isCentral: Bool

  package init(of endpoint: Endpoint, isCentral: Bool) {
    // Without link parameters.
    self.endpoint = endpoint.isAir ? String("\(endpoint)".prefix { $0 != "?" }) : "\(endpoint)"
    self.isCentral = isCentral
  }

  /// - Parameters:
  ///   - number: of the connection, from 0.
  ///   - addresses: those of the radios, if the connection has radios.
  package func connection(_ number: Int, _ addresses: LinkAddresses?) -> WrittenConnection {
    let listener = WrittenConnection.Address(for: endpoint)
    let client = WrittenConnection.Address(
      for: "client \(isCentral ? 1 : number + 1) of \(endpoint)")
    return WrittenConnection(
      number: number,
      own: addresses.map { WrittenConnection.Address($0.own) } ?? (isCentral ? client : listener),
      peer: addresses.map { WrittenConnection.Address($0.peer) } ?? (isCentral ? listener : client),
      name: isCentral ? endpoint : "", isCentral: isCentral)
  }
}

extension WrittenConnection.Address {
  package init(_ address: BluetoothAddress) {
    self.init(address.value, isRandom: address.kind == .random)
  }
}
