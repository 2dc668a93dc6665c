/// The requests of one procedure and their responses, in order.
class ExchangeRecord {
  let name: String
  var exchanges: [(request: [UInt8], response: [UInt8])] = []

  init(_ name: String) { self.name = name }
}
