internal import Atto
import Foundation

extension PublishingEngine {
  func publishChannel(isEncrypted: Bool) {
    post { manager in
      manager.delegate?.peripheralManager(
        manager, didPublishL2CAPChannel: 0, error: CBError(.operationNotSupported))
    }
  }

  func unpublishChannel(_ psm: CBL2CAPPSM) {
    post { manager in
      manager.delegate?.peripheralManager(
        manager, didUnpublishL2CAPChannel: psm, error: CBError(.operationNotSupported))
    }
  }

  func wish(_ latency: CBPeripheralManagerConnectionLatency, for client: ClientID) {
    guard let station, let kernel = station.adapter as? KernelAdapter,
      let peer = station.host.address(of: client)
    else { return }
    let interval: ClosedRange<UInt16> =
      switch latency {
      case .low: 12...24
      case .medium: 24...48
      case .high: 80...160
      }
    let wished = station.host.wish(
      PreferredConnectionParameters(interval: interval, supervisionTimeout: 400), of: peer)
    Task { @RadioLoop in
      do throws(RadioError) {
        try await kernel.loadConnectionParameters(wished)
      } catch {
        Misuse.log("the latency wished for \(peer) was refused: \(error)")
      }
    }
  }
}
