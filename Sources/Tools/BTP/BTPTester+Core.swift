import AttoCommandLine
import AttoRadio

extension BTPService {
  /// auto-pts, doc/btp_core.txt.
  static let coreCommands = [
    core.readSupportedCommands,
    BTPServiceCommand(0x02, "Read Supported Services") {
      try $2.end()
      return supportedServices
    },
    BTPServiceCommand(0x03, "Register Service") { try $0.register(&$2) },
    BTPServiceCommand(0x04, "Unregister Service") { try $0.unregister(&$2) },
    BTPServiceCommand(0x05, "Log Message") { try $0.log(&$2) },
    BTPServiceCommand(0x06, "Read BTP MTU") {
      try $2.end()
      return UInt16(BTPFrame.longest).octets(2)
    },
  ]
}

extension BTPTester {
  fileprivate func register(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let service = BTPService(rawValue: try parameters.number())
    try parameters.end()
    guard let service, registered.insert(service).inserted else { throw .fail }
    return []
  }

  /// Ends what only this service can end.
  fileprivate func unregister(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let service = BTPService(rawValue: try parameters.number())
    try parameters.end()
    // Without Core nothing could be registered again.
    guard let service, service != .core, registered.remove(service) != nil else { throw .fail }
    switch service {
    case .gap:
      stopAdvertising()
      stopDiscovery()
    case .l2cap: endL2CAP()
    case .core, .gatt, .gattClient, .gattServer: break
    }
    return []
  }

  fileprivate func log(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let text = try parameters.value()
    try parameters.end()
    Terminal.note("tester: \(String(decoding: text, as: UTF8.self))")
    return []
  }
}
