import Atto
import AttoRadio

/// An enhanced credit-based channel of the L2CAP service.
struct BTPEnhancedChannel: Sendable {
  let link: RawConnection
  let peer: BluetoothAddress
  /// The longest SDU that this end receives.
  var mtu: UInt16
}

// Enhanced credit-based channels, which Atto opens at the PSM of enhanced bearers only.
extension BTPTester {
  private static let patience: Duration = .seconds(30)

  /// Begins to open channels. Returns their number and their Chan_IDs.
  func connectEnhanced(
    _ count: UInt8, psm: UInt16, mtu: UInt16, to address: BluetoothAddress
  ) throws(BTPStatus) -> [UInt8] {
    let peer = try peer(address)
    let mtu = mtu == 0 ? UInt16(EnhancedBearers.minimumMTU) : mtu
    let ids = (0...UInt8.max).filter { l2cap.channels[$0] == nil }.prefix(Int(count))
    guard psm == EnhancedBearers.spsm, mtu >= EnhancedBearers.minimumMTU, ids.count == Int(count),
      (1...EnhancedBearers.requestLimit).contains(ids.count)
    else { throw .fail }
    let attempt = start {
      var left = ids[...]
      var result: UInt16 = 0
      do {
        let links = try await peer.connection.openChannels(
          ids.count, mtu: Int(mtu), within: Self.patience)
        for link in links {
          let channel = BTPEnhancedChannel(link: link, peer: peer.address, mtu: mtu)
          await self.opened(channel, left.removeFirst())
        }
        result = UInt16(ChannelRefusal.noResources.rawValue)
      } catch {
        await self.note("channels at PSM \(psm)", error)
        result = error.channelResult
      }
      for id in left { await self.closed(id, psm, peer.address, result: result) }
    }
    for id in ids { l2cap.channels[id] = .opening(attempt) }
    return [count] + ids
  }

  private func opened(_ channel: BTPEnhancedChannel, _ id: UInt8) async {
    l2cap.channels[id] = .enhanced(channel)
    let limits = await limits(of: channel)
    send(
      0x81, of: .l2cap,
      [id] + EnhancedBearers.spsm.octets(2) + limits + channel.peer.btp)
    start {
      do {
        while true {
          guard let data = try await channel.link.receive(within: .seconds(3600)) else { continue }
          await self.send(0x83, of: .l2cap, [id] + data.btpValue)
          await self.room()
        }
      } catch {}
      await self.closed(id, EnhancedBearers.spsm, channel.peer, result: 0)
    }
  }

  /// MTU and MPS of the peer and of this end. The MPS is not known, and of the peer's MTU no more than
  /// this end's.
  private func limits(of channel: BTPEnhancedChannel) async -> [UInt8] {
    let mtu = (try? await channel.link.enhancedMTU) ?? 0
    let unknown = UInt16(0)
    return UInt16(clamping: mtu).octets(2) + unknown.octets(2) + channel.mtu.octets(2)
      + unknown.octets(2)
  }

  func reconfigure(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8]? {
    let peer = try peer(try parameters.address())
    let mtu = try parameters.number(UInt16.self)
    var channels: [(id: UInt8, channel: BTPEnhancedChannel)] = []
    for _ in 0..<(try parameters.number(UInt8.self)) {
      let id = try parameters.number(UInt8.self)
      guard case .enhanced(let channel) = l2cap.channels[id],
        channel.peer.value == peer.address.value, channel.mtu <= mtu
      else { throw .fail }
      channels.append((id, channel))
    }
    try parameters.end()
    guard (1...EnhancedBearers.requestLimit).contains(channels.count) else { throw .fail }
    let chosen = channels
    later(command) {
      for (id, channel) in chosen {
        try await channel.link.raiseReceiveMTU(to: Int(mtu))
        await self.reconfigured(id, to: mtu)
      }
      return []
    }
    return nil
  }

  private func reconfigured(_ id: UInt8, to mtu: UInt16) async {
    guard case .enhanced(var channel) = l2cap.channels[id] else { return }
    channel.mtu = mtu
    l2cap.channels[id] = .enhanced(channel)
    send(0x84, of: .l2cap, [id] + (await limits(of: channel)))
  }
}
