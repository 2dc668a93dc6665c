import AttoATT
import AttoGATT

// Enhanced bearers, which come and go.

extension Simulator {
  /// Opens up to five enhanced bearers at once.
  func openBearers(_ connection: Connection) {
    guard !connection.sides.contains(where: \.main.isClosed) else { return }
    for _ in 0..<(1 + random.below(5)) {
      guard connection.sides.allSatisfy({ $0.enhancedCount < 5 }) else { break }
      count(.bearers)
      let (first, second, mtu) = makeLinks(connection)
      for (side, link) in zip(connection.sides, [first, second]) {
        var configuration = side.device.configuration
        configuration.channel = .enhanced(mtu: mtu)
        configuration.linkMayBeReused = false
        guard let session = side.addSession(configuration) else { return }
        append(session, configuration, link, side.client, to: side)
      }
      guard random.chance(0.3) else { continue }
      let end = connection.sides[random.below(2)].ends.last!
      agenda.add(.close(end), at: now + someDelay(random.chance(0.3) ? 50 : 3000))
    }
    note { "link \(connection.number) has \(connection.sides[0].enhancedCount) enhanced bearers" }
  }

  /// Opens bearers, closes one, or raises the ATT_MTU of one.
  func changeBearers(_ end: LinkEnd) {
    let open = end.side.ends.dropFirst().filter { $0.isUsable && $0.peer.isUsable }
    guard !open.isEmpty, random.chance(0.6) else { return openBearers(end.connection) }
    let one = open[open.startIndex + random.below(open.count)]
    guard random.chance(0.4) else {
      count(.closedChannels)
      note { "\(one.name) closes" }
      return one.end()
    }
    let mtu = one.judge.mtu + random.below(200)
    note { "\(one.name) has ATT_MTU \(mtu)" }
    for end in [one, one.peer] {
      end.judge.raise(mtu: mtu)
      end.session.bearer.setChannelMTU(mtu)
    }
  }
}
